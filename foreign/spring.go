package foreign

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
)

// springKind is the kind for the retries in the configuration of Spring applications:
// RabbitProperties and KafkaProperties of Spring Boot, up to 4.1, ConsumerProperties of Spring
// Cloud Stream, RetryProperties of the clients of Spring Cloud Config and Consul, and the Retry
// filter of Spring Cloud Gateway, which is in springgateway.go.
var springKind = Kind{
	Name: "spring", Title: "Spring configuration",
	shape: true,
	recognize: func(doc *syntax.Node) bool {
		root := at(doc.Undotted("spring"), "spring")
		for _, s := range springRetries {
			if slices.ContainsFunc(foldedIn(root, s.path), s.has) {
				return true
			}
		}
		return hasProducer(root) || len(foldedIn(root, rabbitIgnored)) > 0 || hasPart(at(root, "cloud"), isGatewayRetry)
	},
	decode: decodeSpring,
}

// A springRetry is a place of the configuration that contains retries.
type springRetry struct {
	path        []string // folded keys; "*" matches any key
	name        string   // name of its policy; if it is "", the last key that matches "*"
	words       words
	attempts    int
	base        float64
	first, most time.Duration
	format      durationFormat
	optional    bool // retries are disabled unless enabled is true
}

// has reports whether a map contains settings for retries.
func (s *springRetry) has(n *syntax.Node) bool {
	for _, name := range s.words {
		if hasFolded(n, folded(name)) {
			return true
		}
	}
	return hasFolded(n, "maxretries", "backoff")
}

// rabbitIgnored is the path of the retries of listeners before Spring Boot 2.0.
var rabbitIgnored = []string{"rabbitmq", "listener", "retry"}

var (
	rabbitWords = words{
		"max_attempts": "max-attempts", "initial_delay": "initial-interval", "max_delay": "max-interval",
		"base": "multiplier",
	}
	topicWords = words{
		"max_attempts": "attempts", "initial_delay": "delay", "max_delay": "max-delay", "base": "multiplier",
	}
	streamWords = words{
		"max_attempts": "max-attempts", "initial_delay": "back-off-initial-interval",
		"max_delay": "back-off-max-interval", "base": "back-off-multiplier",
	}
)

var springRetries = []springRetry{
	rabbitRetries("rabbitmq_listener", "rabbitmq", "listener", "simple", "retry"),
	rabbitRetries("rabbitmq_direct_listener", "rabbitmq", "listener", "direct", "retry"),
	rabbitRetries("rabbitmq_template", "rabbitmq", "template", "retry"),
	{[]string{"kafka", "retry", "topic"}, "kafka_retry_topic", topicWords, 3, 1, time.Second, 30 * time.Second,
		springDuration, true},
	{[]string{"cloud", "stream", "bindings", "*", "consumer"}, "", streamWords, 3, 2, time.Second, 10 * time.Second,
		in(time.Millisecond), false},
	{[]string{"cloud", "stream", "default", "consumer"}, "stream_consumer", streamWords, 3, 2, time.Second,
		10 * time.Second, in(time.Millisecond), false},
	clientRetries("config_client", "cloud", "config", "retry"),
	clientRetries("consul_client", "cloud", "consul", "retry"),
}

func rabbitRetries(name string, path ...string) springRetry {
	return springRetry{path, name, rabbitWords, 3, 1, time.Second, 10 * time.Second, springDuration, true}
}

func clientRetries(name string, path ...string) springRetry {
	return springRetry{path, name, rabbitWords, 6, 1.1, time.Second, 2 * time.Second, in(time.Millisecond), false}
}

// foldedIn returns the parts of a map at a path of folded keys.
func foldedIn(n *syntax.Node, path []string) (parts []*syntax.Node) {
	if len(path) == 0 {
		return []*syntax.Node{n}
	}
	for _, e := range n.Entries {
		if path[0] == "*" || folded(e.Key) == path[0] {
			parts = append(parts, foldedIn(e.Value, path[1:])...)
		}
	}
	return parts
}

func decodeSpring(d *decoder, doc *value) {
	doc.n = doc.n.Undotted("spring")
	root := doc.get("spring")
	d.partial = d.partial || isProfile(d.file.Name, root.n)
	for i := range springRetries {
		s := &springRetries[i]
		for _, part := range springParts(root, s.path, s.name) {
			if s.has(part.value.n) {
				d.springRetry(s, part.name, part.value)
			}
		}
	}
	for _, part := range springParts(root, rabbitIgnored, "") {
		part.value.warn("P109", "Spring Boot 2.0 and later ignore rabbitmq.listener.retry: write "+
			"rabbitmq.listener.simple.retry")
	}
	if hasProducer(root.n) {
		d.kafkaProducer(root)
	}
	d.gatewayRoutes(root)
	doc.skip() // the rest of the application
}

// isProfile reports whether a document is only for certain profiles of an application. In this
// case, the rest of the configuration is written elsewhere.
func isProfile(file string, spring *syntax.Node) bool {
	on := at(at(at(spring, "config"), "activate"), "on-profile")
	before := at(spring, "profiles") // Spring Boot before 2.4
	return !on.IsNull() || before.Text != "" || before.IsList() || strings.HasPrefix(filepath.Base(file), "application-")
}

// A named value is a value with the name for its policy.
type named struct {
	name  string
	value *value
}

// springParts returns the parts of a value at a path of folded keys.
func springParts(v *value, path []string, name string) (parts []named) {
	if len(path) == 0 {
		return []named{{name, v}}
	}
	for _, key := range v.keys() {
		if path[0] != "*" && folded(key) != path[0] {
			continue
		}
		inner := name
		if path[0] == "*" {
			inner = cmp.Or(name, key)
		}
		if f := v.get(key); f != nil && f.n.IsMap() {
			parts = append(parts, springParts(f, path[1:], inner)...)
		}
	}
	return parts
}

// springOther lists the fields of these places that are unrelated to retries.
var springOther = []string{
	"enabled", "stateless", "include-retryable-exceptions", "random", "random-back-off", "jitter", "use-random-policy",
}

// springRetry converts the retries at a place. Messages use the names of its fields in the
// documentation.
func (d *decoder) springRetry(s *springRetry, name string, v *value) {
	enabled := fieldFolded(v, "enabled")
	if s.optional && enabled != nil && enabled.n.Text == "false" {
		return
	}
	p := d.policy(name, s.words, v)
	if enabled == nil && s.optional && !d.partial {
		v.note("retries are off unless enabled is true, here or elsewhere")
	}
	delays := v
	if b := fieldFolded(v, "backoff"); b != nil && b.n.IsMap() { // part of a Kafka topic
		delays = b
	}
	p.MaxAttempts = s.attempts
	if retries := fieldFolded(v, "max-retries"); retries != nil { // Spring Boot 4
		p.words = maps.Clone(s.words)
		p.words[countsRetries] = retries.key
		p.attempts(retries, 1)
		fieldFolded(v, s.words["max_attempts"]).skip()
	} else {
		p.attempts(fieldFolded(v, s.words["max_attempts"]), 0)
	}
	p.InitialDelay, p.MaxDelay = s.first, s.most
	p.duration("initial_delay", fieldFolded(delays, s.words["initial_delay"]), s.format)
	p.duration("max_delay", fieldFolded(delays, s.words["max_delay"]), s.format)
	p.springBase(s, fieldFolded(delays, s.words["base"]))
	if s.path[0] == "kafka" {
		p.topicDelays(fieldFolded(delays, s.words["max_delay"]))
	}
	for _, name := range springOther {
		fieldFolded(v, name).skip()
		fieldFolded(delays, name).skip()
	}
	for _, name := range []string{"default-retryable", "retryable-exceptions"} {
		fieldFolded(v, name).lose("it selects the exceptions that are retried: here every one is")
	}
	if s.inConsumer() { // which has other fields
		return
	}
	d.unread(v)
}

// inConsumer reports whether the place also contains many fields that are unrelated to retries.
func (s *springRetry) inConsumer() bool { return s.path[len(s.path)-1] == "consumer" }

// springBase reads the multiplier. Values less than 1 mean 1.
func (p *Policy) springBase(s *springRetry, v *value) {
	p.Base = s.base
	if f, ok := v.float(); ok {
		p.Base = f
		p.from("base", v)
	} else if v != nil {
		p.unknown = append(p.unknown, "base")
	}
	if p.Base <= 1 || p.InitialDelay == p.MaxDelay {
		p.Backoff, p.Base = retry.BackoffFixed, 0
	}
}

// topicDelays checks the maximum delay of a Kafka topic. If it is shorter than the first delay,
// Spring Boot before 4.0 uses 30 seconds instead, and later versions refuse it.
func (p *Policy) topicDelays(longest *value) {
	if p.Backoff == retry.BackoffFixed {
		p.MaxDelay = max(p.MaxDelay, p.InitialDelay)
		return
	}
	p.judged = append(p.judged, "P201")
	if longest != nil && !isOpen(longest.n) && p.MaxDelay < p.InitialDelay {
		longest.mistake("P201", "%s %s is shorter than the first delay %s, so Spring ignores or refuses it: raise it",
			longest.key, duration.Format(p.MaxDelay), duration.Format(p.InitialDelay))
	}
}
