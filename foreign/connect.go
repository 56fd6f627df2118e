package foreign

import (
	"cmp"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	retry "github.com/retrygen/retrygen/runtime"
)

// connectKind is the kind for the error handling of Kafka Connect, in the configuration of
// connectors and in resources of Strimzi. Sources: apache/kafka,
// RetryWithToleranceOperator.java, and ConnectorConfig.java for the defaults.
var connectKind = Kind{
	Name: "connect", Title: "Kafka Connect connector",
	recognize: func(doc *syntax.Node) bool {
		is := isConnector
		if isResource(doc, "kafka.strimzi.io", "KafkaConnector", "KafkaMirrorMaker2") {
			is = hasConnectRetries
		}
		return hasPart(doc, is)
	},
	decode: func(d *decoder, doc *value) {
		name, is := at(doc.n, "name").Text, isConnector
		if doc.has("apiVersion") {
			name, is = resource(doc), hasConnectRetries
		}
		d.search(name, doc, is, func(_ string, v *value) {
			d.connector(cmp.Or(at(v.n, "name").Text, name, "connector"), v)
		})
	},
}

var connectWords = words{
	"max_elapsed": connectTimeout, "max_delay": connectMaxDelay, "initial_delay": fixed + "the first delay",
}

// The keys of the settings, and their defaults.
const (
	connectTimeout  = "errors.retry.timeout"
	connectMaxDelay = "errors.retry.delay.max.ms"

	connectFirst   = 300 * time.Millisecond
	connectLongest = time.Minute
)

// hasConnectRetries reports whether a map has settings for retries.
func hasConnectRetries(n *syntax.Node) bool {
	return isDotted(n, connectTimeout) || isDotted(n, connectMaxDelay)
}

// isConnector reports whether a map is the configuration of a connector with settings for retries.
func isConnector(n *syntax.Node) bool {
	return isDotted(n, "connector.class") && hasConnectRetries(n)
}

// isDotted reports whether a map has a key that contains dots. Nested maps, to which the keys
// of a properties file are converted, count as well.
func isDotted(n *syntax.Node, key string) bool {
	if n.Written(key) != nil {
		return true
	}
	for step := range strings.SplitSeq(key, ".") {
		n = at(n, step)
	}
	return n.Text != ""
}

// dotted returns the field of a map under a key that contains dots, or nil.
func (v *value) dotted(key string) *value {
	if f := v.get(key); f != nil {
		return f
	}
	for step := range strings.SplitSeq(key, ".") {
		v = v.get(step)
	}
	return v
}

func (d *decoder) connector(name string, v *value) {
	limit, longest := v.dotted(connectTimeout), v.dotted(connectMaxDelay)
	v.skipOthers(connectTimeout, connectMaxDelay, "errors")
	v.get("errors").skipOthers("retry")
	total, ok := limit.connectLimit()
	if !ok || total == 0 { // nothing is retried, or the limit is unknown
		if limit == nil {
			longest.lacks("P109", "%s has no effect: nothing is retried without %s", connectMaxDelay, connectTimeout)
		}
		longest.skip()
		return
	}
	p := d.policy(name, connectWords, v)
	p.MaxAttempts, p.InitialDelay, p.MaxDelay = retry.Unlimited, connectFirst, connectLongest
	known := longest == nil
	if p.duration("max_delay", longest, in(time.Millisecond)) {
		known = true
		if p.MaxDelay <= connectFirst { // each delay is random, up to MaxDelay
			p.Backoff, p.InitialDelay, p.Jitter = retry.BackoffFixed, p.MaxDelay, retry.JitterFull
		} else {
			longest.note("a delay beyond it is replaced by one between 0 and it, at random")
		}
	}
	if total < 0 {
		p.unknown = append(p.unknown, "max_elapsed")
		limit.mistake("P300", "nothing ends these retries: write a number of milliseconds for %s", connectTimeout)
		return
	}
	p.setDuration("max_elapsed", total, limit)
	if known && total < p.InitialDelay && p.InitialDelay == connectFirst {
		p.unknown = append(p.unknown, "max_elapsed")
		limit.warn("P301", "%s counts milliseconds: %v is less than the first delay of %v, so it allows one retry",
			connectTimeout, total, connectFirst)
	}
}

// connectLimit returns how long errors are retried. It returns a negative duration if there is
// no limit.
func (v *value) connectLimit() (time.Duration, bool) {
	if v != nil && !v.n.IsMap() && v.n.Text == "-1" {
		v.done = true
		return -1, true
	}
	return v.duration(in(time.Millisecond))
}
