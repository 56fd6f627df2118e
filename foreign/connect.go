package foreign

import (
	"cmp"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	retry "github.com/retrygen/retrygen/runtime"
)

// connectKind is the error handling of Kafka Connect, in the configuration of connectors and in
// resources of Strimzi: apache/kafka, RetryWithToleranceOperator.java, and ConnectorConfig.java for the defaults.
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
	return n.Written(connectTimeout) != nil || n.Written(connectMaxDelay) != nil
}

// isConnector reports whether a map is the configuration of a connector with settings for retries.
func isConnector(n *syntax.Node) bool {
	return n.Written("connector.class") != nil && hasConnectRetries(n)
}

func (d *decoder) connector(name string, v *value) {
	v.skipOthers(connectTimeout, connectMaxDelay)
	limit, longest := v.get(connectTimeout), v.get(connectMaxDelay)
	total, ok := limit.connectLimit()
	if !ok || total == 0 { // nothing is retried, or it is not known
		if limit == nil {
			longest.warn("P109", "%s has no effect: nothing is retried without %s", connectMaxDelay, connectTimeout)
		}
		longest.skip()
		return
	}
	p := d.policy(name, connectWords, v)
	p.MaxAttempts, p.InitialDelay, p.MaxDelay = retry.Unlimited, connectFirst, connectLongest
	known := longest == nil
	if p.duration("max_delay", longest, in(time.Millisecond)) {
		known = true
		p.InitialDelay = min(connectFirst, p.MaxDelay)
		longest.note("a delay beyond it is replaced by one between 0 and it, at random")
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

// connectLimit returns how long errors are retried. It is negative without a limit.
func (v *value) connectLimit() (time.Duration, bool) {
	if v != nil && !v.n.IsMap() && v.n.Text == "-1" {
		v.done = true
		return -1, true
	}
	return v.duration(in(time.Millisecond))
}
