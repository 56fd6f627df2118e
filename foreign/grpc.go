package foreign

import (
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// grpcKind is the kind for service configs of gRPC clients. Sources: grpc/grpc,
// doc/service_config.md, and gRFC A6.
var grpcKind = Kind{
	Name: "grpc", Title: "gRPC service config",
	shape: true,
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

// everyMethod is the bind comment of a config that does not name a service.
const everyMethod = "every method"

// grpcJitter is the width of gRPC's jitter, as a fraction of the delay.
const grpcJitter = 0.2

// isGRPCPolicy reports whether a map is a retryPolicy.
func isGRPCPolicy(n *syntax.Node) bool {
	return n.Get("retryableStatusCodes") != nil && (n.Get("maxAttempts") != nil || n.Get("initialBackoff") != nil)
}

// grpcPlace explains where a retryPolicy has an effect.
const grpcPlace = "write it in an item of methodConfig, which has a name"

// isGRPCConfig reports whether a map is an entire service config and not only a part of one, as
// in documentation.
func isGRPCConfig(n *syntax.Node) bool {
	return slices.ContainsFunc(n.Entries, func(e syntax.Entry) bool {
		return slices.Contains([]string{
			"methodConfig", "loadBalancingPolicy", "loadBalancingConfig", "healthCheckConfig", "retryThrottling",
		}, e.Key)
	})
}

func decodeGRPC(d *decoder, doc *value) {
	// grpc-go does not read partial configs or templates of configs.
	refuse := &grpcParser{report: d.problem}
	isWhole := !d.partial && !hasPart(doc.n, isOpen)
	part := syntax.Entry{Key: "retryPolicy", At: doc.at, Value: doc.n}
	switch {
	case isGRPCPolicy(doc.n): // a part of a config, as in documentation
		if isWhole {
			refuse.retryPolicy(part, true)
		}
		d.grpcRetries(d.policy("default", grpcWords, doc), doc)
	case isGRPCPolicy(at(doc.n, "retryPolicy")) && !isGRPCConfig(doc.n):
		if isWhole {
			refuse.method(part, true)
		}
		d.grpcMethods(doc)
	default:
		if isWhole {
			refuse.config(doc.n)
		}
		d.grpcConfig(doc)
	}
}

// grpcConfig converts a service config.
func (d *decoder) grpcConfig(doc *value) {
	doc.get("retryPolicy").mistake("P101", "gRPC clients ignore retryPolicy here: %s", grpcPlace)
	doc.skip("loadBalancingPolicy", "loadBalancingConfig", "healthCheckConfig")
	doc.get("retryThrottling").lose("a client stops retrying while more calls fail than maxTokens and tokenRatio allow; " +
		"a budget with a ratio is similar")
	for _, m := range doc.get("methodConfig").items() {
		if m.n.IsNull() {
			m.skip()
			continue
		}
		if len(m.get("name").items()) == 0 && m.has("retryPolicy") && !d.partial {
			d.problem(m.get("retryPolicy").at, "P101", rules.Error,
				`gRPC clients ignore a retryPolicy without methods: write "name": [{}] next to it, for every method`)
		}
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

// grpcRetries converts a retryPolicy. The rules do not check fields that are missing or that
// gRPC refuses.
func (d *decoder) grpcRetries(p *Policy, r *value) {
	if !p.attempts(r.get("maxAttempts"), 0) {
		p.MaxAttempts = retry.Unlimited // clients that accept the config retry until the timeout
		p.unknown = append(p.unknown, "max_attempts")
	} else if p.MaxAttempts > 5 {
		r.get("maxAttempts").note("gRPC clients make at most 5 attempts, unless the program raises that limit")
	}
	p.Jitter, p.JitterFactor = retry.JitterProportional, grpcJitter
	if !p.duration("initial_delay", r.get("initialBackoff"), protobuf) {
		p.unknown = append(p.unknown, "initial_delay")
	}
	if !p.duration("max_delay", r.get("maxBackoff"), protobuf) {
		p.unknown = append(p.unknown, "max_delay")
	}
	if !p.base(r.get("backoffMultiplier")) {
		p.unknown = append(p.unknown, "base")
	}
	p.duration("attempt_timeout", r.get("perAttemptRecvTimeout"), protobuf)
	codes := r.get("retryableStatusCodes")
	p.from("retry_on", codes)
	d.retryCodes(p, codes, codes.items(), grpcCode)
	if len(p.RetryOn) == 0 {
		p.Schedule = retry.Schedule{MaxAttempts: 1}
	}
}

// retryCodes adds the gRPC codes of items to retry_on, sorted by their numbers.
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

// grpcCode reads a status code, which is a name or a number. The value is null if it is
// refused.
func grpcCode(v *value) (string, bool) {
	code := v.n.Text
	if n, ok := v.n.Value.(int64); ok && n >= 0 && int(n) < len(grpcCodes) {
		code = grpcCodes[n]
	}
	v.done = true
	if code == grpcCodes[0] {
		v.mistake("P102", "%s is not a gRPC code of an error, as UNAVAILABLE", syntax.Quote(v.n.Text))
		return "", false
	}
	return code, slices.Contains(grpcCodes[:], code)
}

// grpcNames reads the methods to which a config applies. name is a name for the policy: the
// method, the service, or default.
func grpcNames(list *value) (binds []string, name string) {
	for _, item := range list.items() {
		if item.n.IsNull() {
			item.skip()
			continue
		}
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
