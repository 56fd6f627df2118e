package policy

import (
	"bytes"
	"path"
	"regexp"
	"strings"

	"github.com/retrygen/retrygen/internal/syntax"
)

var (
	// schemaComment matches the comment that names the schema of a file for editors.
	schemaComment = regexp.MustCompile(`(?m)^#[ \t]*yaml-language-server:[ \t]*\$schema=(\S+)`)
	versionLine   = regexp.MustCompile(`(?m)^version:[ \t]*1[ \t\r]*(?:#.*)?$`)
	sectionLine   = regexp.MustCompile(`(?m)^(?:policies|bind):`)
)

// Recognize reports whether text is the content of a policy file. The name of the file
// does not matter. In a policy file, either a comment for editors refers to the schema of
// policy files, or version: 1 occurs together with policies or bind. One of these keys
// alone is not enough, because many other files contain it.
func Recognize(text []byte) bool {
	if m := schemaComment.FindSubmatch(text); m != nil {
		return strings.Contains(string(m[1]), "retrygen") || path.Base(string(m[1])) == "policy.schema.json"
	}
	hasSection := bytes.Contains(text, []byte("policies")) || bytes.Contains(text, []byte("bind"))
	if len(text) > syntax.MaxBytes || !hasSection || !bytes.Contains(text, []byte("version")) {
		return false
	}
	root := syntax.Parse(text, func(syntax.Problem) {})
	if root == nil { // which is not reason enough to ignore it
		return versionLine.Match(text) && sectionLine.Match(text) && !bytes.Contains(text, []byte("\n---"))
	}
	version := root.Get("version")
	return version != nil && version.Value.Value == int64(1) && (root.Get("policies") != nil || root.Get("bind") != nil)
}
