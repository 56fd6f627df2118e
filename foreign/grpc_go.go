package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// CheckGRPC reports the errors and warnings in a gRPC service config that a Go program
// gives to grpc-go: the place in the text, the rule and the message.
func CheckGRPC(text []byte, report func(line, col, width int, rule, text string)) {
	for _, p := range checkGRPC(text) {
		if p.Severity != rules.Info {
			report(p.Line, p.Col, p.Width, p.Rule, p.Text)
		}
	}
}

// checkGRPC judges a service config as [Check] does. grpc-go reads JSON only, and names of
// fields in any case. An empty text has no problems.
func checkGRPC(text []byte) []policy.Problem {
	r := newReader(new(File))
	var value json.RawMessage
	var bad *json.SyntaxError
	if errors.As(json.Unmarshal(text, &value), &bad) {
		if len(bytes.TrimSpace(text)) > 0 {
			before := text[:min(max(int(bad.Offset)-1, 0), len(text))]
			at := syntax.Span{Line: 1 + bytes.Count(before, []byte("\n")), Width: 1,
				Col: len(before) - bytes.LastIndexByte(before, '\n')}
			r.problem(at, "P100", rules.Error, "grpc-go refuses this service config, which is not JSON: "+bad.Error())
		}
		return r.problems
	}
	text = grpcField.ReplaceAllFunc(text, func(key []byte) []byte {
		end := bytes.LastIndexByte(key, '"') + 1
		return append([]byte(grpcSpelling[strings.ToLower(string(key[:end]))]), key[end:]...)
	})
	for _, doc := range flatten(syntax.Documents(text, func(syntax.Problem) {})) {
		if isGRPCPolicy(doc) || isGRPCPolicy(at(doc, "retryPolicy")) {
			r.problem(doc.Span, "P101", rules.Error,
				"grpc-go ignores retryPolicy here: "+grpcPlace)
			return r.problems
		}
	}
	return Check("", text, &grpcKind)
}

// grpcSpelling has the names of fields by their lower case, in quotes.
var grpcSpelling = map[string]string{}

// grpcField matches the name of a field in any case, up to its colon.
var grpcField = func() *regexp.Regexp {
	names := []string{
		"methodConfig", "name", "service", "method", "timeout", "waitForReady", "retryPolicy", "maxAttempts",
		"initialBackoff", "maxBackoff", "backoffMultiplier", "retryableStatusCodes", "retryThrottling",
		"hedgingPolicy", "maxRequestMessageBytes", "maxResponseMessageBytes", "loadBalancingPolicy",
		"loadBalancingConfig", "healthCheckConfig",
	}
	for _, name := range names {
		grpcSpelling[`"`+strings.ToLower(name)+`"`] = `"` + name + `"`
	}
	return regexp.MustCompile(`(?i)"(?:` + strings.Join(names, "|") + `)"\s*:`)
}()
