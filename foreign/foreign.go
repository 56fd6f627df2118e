// Package foreign reads the retry policies of other systems, such as gRPC service
// configs and Dapr resiliency files, and converts them to policy files and back.
//
// For each system, there is one source file in this package. It defines how a document is
// recognized, what its fields mean in the policy language, and which fields have no
// equivalent. A field without an equivalent becomes a [Loss] with its position. Nothing
// is ignored. The converted policies are checked with the rules for policy files.
// Problems are reported with their positions in the foreign file and use the names of its
// fields.
//
// A file consists of documents. A document, such as a ConfigMap, may contain strings that
// are files themselves. These strings are read as well, and their positions are those in
// the outer file. A document may contain policies of several systems. Each part is
// converted by the first kind that recognizes it. A patch or a template does not contain
// all settings, so the rules do not check settings that are missing from it.
//
// To add a system, write a source file with its [Kind], list the kind in [Kinds], and put
// sample documents into testdata/NAME. The results are written by go test -update.
//
//   - A decoder reads values with get, items, text, int and duration, which report
//     mistakes themselves. A field that the decoder does not read becomes a loss. Call
//     skip for fields that are unrelated to retries. For fields that are related, call
//     lose and pass the reason.
//   - An encoder takes the settings that it writes, and calls lose for settings that the
//     system treats differently. All other settings are reported as settings that the
//     system does not have.
package foreign

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// A Kind is a kind of document that contains one system's policies.
type Kind struct {
	Name  string // name on the command line, such as grpc
	Title string // name in messages, such as gRPC service config

	// recognize reports whether a document, which is a map, has policies of this kind. The
	// document lacks the parts that a kind before this one in [Kinds] has converted.
	recognize func(*syntax.Node) bool
	// shape reports that recognize looks at the structure of a document's parts. A Kubernetes
	// resource with another meaning may have the same structure.
	shape bool
	// terraform reports that a kind with shape also recognizes Terraform resources. Other
	// Terraform resources have fields with the same names.
	terraform bool
	// language reads the texts of a system that has its own format, whatever their file names
	// are.
	language func(*syntax.Excerpt) []syntax.Document
	// decode converts a document. It reads every field that it knows, and skips the fields that
	// are unrelated to retries.
	decode func(d *decoder, doc *value)
	// encode writes the policies of a file. If it is nil, the kind cannot be exported.
	encode func(e *encoder)
}

// Kinds returns all kinds. A document is searched for policies of each kind in this
// order. Messages list the kinds in the same order.
func Kinds() []*Kind {
	return []*Kind{
		&grpcKind, &daprKind, &aslKind, &sqsKind, &temporalKind, &batchKind, &argoKind, &tektonKind, &istioKind,
		&linkerdKind, &nginxKind, &ingressNginxKind, &haproxyKind, &gatewayKind, &envoyGatewayKind, &contourKind,
		&kgatewayKind, &traefikKind, &kumaKind, &jobKind, &knativeKind, &actionsKind, &connectKind,
		&resilience4jKind, &springKind, &pollyKind, &conductorKind, &gcpKind, &cloudTasksKind, &pubsubKind,
		&logicAppsKind, &serverlessKind, &prodigyKind, &flowKind, &envoyKind,
	}
}

// Exports reports whether [Export] can write documents of the kind.
func (k *Kind) Exports() bool { return k.encode != nil }

// ByName returns the kind with the given name, or nil.
func ByName(name string) *Kind {
	i := slices.IndexFunc(Kinds(), func(k *Kind) bool { return k.Name == name })
	if i < 0 {
		return nil
	}
	return Kinds()[i]
}

// A File contains the policies in another system's file.
type File struct {
	Name     string
	Kinds    []*Kind // kinds of its documents, without duplicates
	Policies []*Policy
	Losses   []Loss // losses sorted by position, including the losses of policies
	// Unread contains the reasons why some documents cannot be read. Such documents may
	// not contain policies at all.
	Unread []policy.Problem
	// Template reports whether one of these documents is a Helm template.
	Template bool

	scopes    []*section
	groups    []*section
	classes   []class
	matchText bool // the system classifies errors by their texts
}

// A Loss is a part of a foreign document or of a policy file that has no equivalent in
// the other language.
type Loss struct {
	File string
	policy.Pos
	Width  int
	Path   string  // path of the field, such as methodConfig[0].retryPolicy.hedging
	Why    string  // what the field means, or why it is lost
	Policy *Policy // the policy to which it belongs; nil if it belongs to the document or to a policy file

	misspelled bool   // the field is unknown and resembles one that is known
	key        string // name of the field
	open       bool   // the value is not known yet
}

// String returns the loss as file:line:col: path: why.
func (l Loss) String() string {
	return fmt.Sprintf("%s:%d:%d: %s: %s", l.File, l.Line, l.Col, l.Path, l.Why)
}

// problem returns the loss as a problem of the file. Its severity is Info, unless the field is
// probably misspelled.
func (l Loss) problem() policy.Problem {
	p := policy.Problem{File: l.File, Pos: l.Pos, Width: l.Width, Rule: "P111",
		Text: fmt.Sprintf("%s: %s", l.Path, l.Why)}
	if l.misspelled {
		p.Rule, p.Severity, p.Text = "P101", rules.Warning, l.Why
	}
	return p
}

// Options contains information about a file in addition to its text.
type Options struct {
	// From is the kind of the file's documents. If it is nil, the kinds of each document
	// are recognized by its content, and documents without policies are skipped.
	From *Kind
	// Patch, if not nil, describes how the documents change other documents. Settings
	// that are missing from the patch are in those documents, so the rules do not check
	// them.
	Patch *Patch
}

// Read reads the policies in another system's file. The problems are sorted. The problems
// include values that the other system refuses. The reasons why documents cannot be read
// are in the Unread field of the File.
func Read(name string, text []byte, o Options) (*File, []policy.Problem) {
	r := newReader(&File{Name: name})
	r.read(name, syntax.File(text), o.From, o.Patch)
	if o.From != nil && len(r.file.Kinds) == 0 && len(r.file.Unread) == 0 {
		form := ", which is a map of fields"
		if o.From.language != nil {
			form = ""
		}
		r.problem(start, "P100", rules.Error, fmt.Sprintf("this is no %s%s", o.From.Title, form))
	}
	if o.From != nil && len(r.file.Policies) == 0 && len(r.problems) == 0 {
		if other, _ := Read(name, text, Options{}); len(other.Kinds) > 0 && !slices.Contains(other.Kinds, o.From) {
			r.problem(start, "P100", rules.Error, fmt.Sprintf("this is no %s, but a file of kind %s", o.From.Title,
				other.Kinds[0].Name))
		}
	}
	policy.Sort(r.problems)
	sortLosses(r.file.Losses)
	return r.file, r.problems
}

// isIn reports whether a document has policies of the kind.
func (k *Kind) isIn(doc *syntax.Node) bool {
	isResource := at(doc, "apiVersion").Text != "" && at(doc, "kind").Text != ""
	isTerraform := at(doc, "resource").IsMap()
	return !describes(doc) && !(k.shape && (isResource || isTerraform && !k.terraform)) && k.recognize(doc)
}

// hints lists words in lower case. Every document with policies contains at least one of them.
var hints = [][]byte{
	[]byte("retr"), []byte("timeout"), []byte("attempt"), []byte("interval"), []byte("mapreduce"), []byte("error_policy"),
	[]byte("backoff"), []byte("deadline"), []byte("redrive"), []byte("next_upstream"),
}

// MayHavePolicies reports whether text may contain policies. It is much faster than
// [Read].
func MayHavePolicies(text []byte) bool {
	lower := bytes.ToLower(text)
	return slices.ContainsFunc(hints, func(word []byte) bool { return bytes.Contains(lower, word) })
}

func sortLosses(list []Loss) {
	slices.SortStableFunc(list, func(a, b Loss) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col),
			strings.Compare(a.Path, b.Path))
	})
}
