package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// CheckGRPC reports the errors and warnings in a gRPC service config that a Go program
// passes to grpc-go. For each problem, it reports the position in the text, the rule and
// the message. If grpc-go refuses something, the message begins with "grpc-go refuses".
func CheckGRPC(text []byte, report func(line, col, width int, rule, text string)) {
	for _, p := range checkGRPC(text) {
		if p.Severity != rules.Info {
			report(p.Line, p.Col, p.Width, p.Rule, p.Text)
		}
	}
}

// grpcGoKind is the kind for service configs as grpc-go reads them, which ignores the case of
// field names.
var grpcGoKind = Kind{
	Name: grpcKind.Name, Title: grpcKind.Title,
	decode: func(d *decoder, doc *value) {
		(&grpcParser{report: d.problem, anyCase: true}).config(doc.n)
		d.grpcConfig(doc)
	},
}

// checkGRPC checks a service config as [Check] does. grpc-go only reads JSON.
func checkGRPC(text []byte) []policy.Problem {
	r := newReader(new(File))
	if at, why := grpcMap(text); why != "" {
		r.problem(at, "P100", rules.Error, "grpc-go refuses this service config, which is "+why)
		return r.problems
	}
	for _, document := range syntax.File(text).Documents() {
		for _, p := range document.Problems {
			r.problems = append(r.problems, r.problemOf(p))
		}
		doc := document.Root
		if doc == nil {
			continue
		}
		if misplaced(doc) || slices.ContainsFunc(doc.Entries, func(e syntax.Entry) bool {
			return strings.EqualFold(e.Key, "retryPolicy") && misplaced(e.Value)
		}) {
			r.problem(doc.Span, "P101", rules.Error, "grpc-go ignores retryPolicy here: "+grpcPlace)
			return r.problems
		}
		if doc.IsMap() {
			r.decode(&grpcGoKind, doc)
		}
	}
	return r.file.check(r.problems)
}

// misplaced reports whether a map has the fields of a retryPolicy, in any case.
func misplaced(n *syntax.Node) bool {
	return grpcHas(n, "retryableStatusCodes") && (grpcHas(n, "maxAttempts") || grpcHas(n, "initialBackoff"))
}

// grpcMap reports why a text is not a JSON object, and the position of the error.
func grpcMap(text []byte) (at syntax.Span, why string) {
	var fields map[string]json.RawMessage
	err := json.Unmarshal(text, &fields)
	var bad *json.SyntaxError
	var other *json.UnmarshalTypeError
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return start, "empty: remove the option"
	case errors.As(err, &bad):
		before := text[:min(max(int(bad.Offset)-1, 0), len(text))]
		return syntax.Span{Line: 1 + bytes.Count(before, []byte("\n")), Width: 1,
			Col: len(before) - bytes.LastIndexByte(before, '\n')}, "not JSON: " + bad.Error()
	case errors.As(err, &other):
		return start, "not a map: " + other.Value
	}
	return start, ""
}
