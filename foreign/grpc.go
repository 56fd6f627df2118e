package foreign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// grpcKind is the service config of gRPC clients: grpc/grpc, doc/service_config.md
// and gRFC A6.
var grpcKind = Kind{
	Name: "grpc", Title: "gRPC service config",
	recognize: func(doc *syntax.Node) bool {
		return at(doc, "methodConfig").IsList() || isGRPCPolicy(doc) || isGRPCPolicy(at(doc, "retryPolicy"))
	},
	decode: decodeGRPC,
	encode: encodeGRPC,
}

var grpcWords = words{
	"max_attempts": "maxAttempts", "initial_delay": "initialBackoff", "max_delay": "maxBackoff",
	"base": "backoffMultiplier", fixedBackoff: "backoffMultiplier: 1", "retry_on": "retryableStatusCodes",
	"timeout": "timeout",
}

// everyMethod is the bind comment of a config without a service.
const everyMethod = "every method"

// grpcJitter is the width of the jitter of gRPC, as a fraction of the delay.
const grpcJitter = 0.2

// isGRPCPolicy reports whether a map is a retryPolicy.
func isGRPCPolicy(n *syntax.Node) bool {
	return n.Get("retryableStatusCodes") != nil && (n.Get("maxAttempts") != nil || n.Get("initialBackoff") != nil)
}

// grpcPlace is where a retryPolicy has an effect.
const grpcPlace = "write it in an item of methodConfig, which has a name"

// isGRPCConfig reports whether a map is a service config as a whole, and no part of one
// as documentation has it.
func isGRPCConfig(n *syntax.Node) bool {
	return slices.ContainsFunc(n.Entries, func(e syntax.Entry) bool {
		return slices.Contains([]string{
			"methodConfig", "loadBalancingPolicy", "loadBalancingConfig", "healthCheckConfig", "retryThrottling",
		}, e.Key)
	})
}

func decodeGRPC(d *decoder, doc *value) {
	switch {
	case isGRPCPolicy(doc.n): // a part of a config, as in documentation
		d.grpcRetries(d.policy("default", grpcWords, doc), doc)
		return
	case isGRPCPolicy(at(doc.n, "retryPolicy")) && !isGRPCConfig(doc.n):
		d.grpcMethods(doc)
		return
	}
	doc.get("retryPolicy").mistake("P101", "gRPC clients ignore retryPolicy here: %s", grpcPlace)
	doc.skip("loadBalancingPolicy", "loadBalancingConfig", "healthCheckConfig")
	doc.get("retryThrottling").lose("a client stops retrying while more calls fail than maxTokens and tokenRatio allow; " +
		"a budget with a ratio is similar")
	for _, m := range doc.get("methodConfig").items() {
		d.grpcMethods(m)
	}
}

// grpcMethods converts one item of methodConfig.
func (d *decoder) grpcMethods(m *value) {
	m.skip("maxRequestMessageBytes", "maxResponseMessageBytes")
	binds, name := grpcNames(m.get("name"))
	r := m.get("retryPolicy")
	at := r
	if r == nil {
		at = m
	}
	p := d.policy(name, grpcWords, at, m)
	p.Binds = binds
	if m.get("waitForReady").bool() {
		m.get("waitForReady").lose("calls wait for a connection instead of failing while there is none")
	}
	m.get("hedgingPolicy").lose("a second attempt starts before the first has failed")
	p.duration("timeout", m.get("timeout"), protobuf)
	if r == nil {
		p.MaxAttempts = 1 // only transparent retries
		return
	}
	d.grpcRetries(p, r)
}

func (d *decoder) grpcRetries(p *Policy, r *value) {
	n := grpcAnyCase(r, "maxAttempts")
	if n == nil {
		p.MaxAttempts = retry.Unlimited
		r.note("maxAttempts is absent: grpc-go refuses the config, other readers retry until the timeout")
	} else if p.attempts(n, 0) && p.MaxAttempts > 5 {
		n.note("gRPC clients make at most 5 attempts, unless the program raises that limit")
	}
	if p.MaxAttempts == 1 {
		n.mistake("P102", "maxAttempts 1 is refused by gRPC: write at least 2, or remove retryPolicy")
	}
	p.Jitter, p.JitterFactor = retry.JitterProportional, grpcJitter
	p.duration("initial_delay", grpcAnyCase(r, "initialBackoff"), protobuf)
	p.duration("max_delay", grpcAnyCase(r, "maxBackoff"), protobuf)
	p.base(grpcAnyCase(r, "backoffMultiplier"))
	p.duration("attempt_timeout", r.get("perAttemptRecvTimeout"), protobuf)
	codes := grpcAnyCase(r, "retryableStatusCodes")
	p.from("retry_on", codes)
	d.retryCodes(p, codes, codes.items(), grpcCode)
	if len(p.RetryOn) == 0 {
		at := r
		if codes != nil {
			at = codes
		}
		d.problem(at.n.Span, "P108", rules.Error,
			"there are no retryableStatusCodes, so nothing is retried: list codes, or remove retryPolicy")
		p.Schedule = retry.Schedule{MaxAttempts: 1}
	}
}

// grpcAnyCase returns a field of a retryPolicy, and warns of one in another case.
func grpcAnyCase(r *value, name string) *value {
	for _, key := range r.keys() {
		if key != name && strings.EqualFold(key, name) && !r.has(name) {
			f := r.get(key)
			if f != nil {
				r.d.problem(f.at, "P101", rules.Warning, fmt.Sprintf("only grpc-go reads %s: write %s", key, name))
			}
			return f
		}
	}
	return r.get(name)
}

// retryCodes adds the gRPC codes of items to retry_on, in the order of their
// numbers.
func (d *decoder) retryCodes(p *Policy, at *value, items []*value, read func(*value) (string, bool)) {
	var named [len(grpcCodes)]bool
	for _, item := range items {
		if code, ok := read(item); ok {
			named[slices.Index(grpcCodes[:], code)] = true
		}
	}
	for i, is := range named {
		if is {
			p.retryOn(d.grpc(grpcCodes[i]), at)
		}
	}
}

// grpcCode reads a status code: its name, in upper or lower case, or its number.
func grpcCode(v *value) (string, bool) {
	if n, ok := v.n.Value.(int64); ok && n > 0 && int(n) < len(grpcCodes) {
		v.done = true
		return grpcCodes[n], true
	}
	code := strings.ToUpper(v.text())
	for _, known := range grpcCodes[1:] {
		if code == known {
			return code, true
		}
	}
	v.mistake("P102", "%s is not a gRPC code of an error, as UNAVAILABLE", syntax.Quote(v.n.Text))
	return "", false
}

// grpcNames reads the methods that a config is for. name is one for the policy: the
// method, the service, or default.
func grpcNames(list *value) (binds []string, name string) {
	for _, item := range list.items() {
		service, method := item.get("service").text(), item.get("method").text()
		bind := service + "/" + method
		switch {
		case service == "":
			bind = everyMethod
		case method == "":
			bind = service + "/*"
		}
		binds = append(binds, bind)
		if name != "" {
			continue
		}
		name = method
		if method == "" {
			name = service[strings.LastIndexByte(service, '.')+1:]
		}
		if name == "" {
			name = "default"
		}
	}
	if name == "" {
		name = "default"
	}
	return binds, name
}
