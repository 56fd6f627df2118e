package diagnostic

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// Annotate prints the diagnostic as a workflow command, which GitHub shows next to the
// line. Errors of w are ignored.
func (d Diagnostic) Annotate(w io.Writer) {
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	message := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	command, text := [...]string{"notice", "warning", "error"}[d.Severity], d.Text
	if d.Paste != "" {
		text += "\n" + strings.TrimSuffix(d.Paste, "\n")
	}
	if d.Named {
		text += " [named]"
	}
	fmt.Fprintf(w, "::%s file=%s,line=%d,col=%d,title=%s::%s\n", command,
		property.Replace(filepath.ToSlash(d.File)), d.Line, d.Col, d.Rule, message.Replace(text))
}
