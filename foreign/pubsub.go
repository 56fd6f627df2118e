package foreign

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// pubsubKind is the kind for the redelivery of Google Cloud Pub/Sub subscriptions, in the JSON
// and YAML of its API, of Config Connector and of Crossplane, and in Terraform JSON. Sources:
// google.pubsub.v1, Subscription, RetryPolicy and DeadLetterPolicy, and "Handle message
// failures" in its documentation.
var pubsubKind = Kind{
	Name: "pubsub", Title: "Pub/Sub subscription",
	recognize: func(doc *syntax.Node) bool {
		return slices.ContainsFunc(at(at(doc, "resource"), "google_pubsub_subscription").Entries,
			func(e syntax.Entry) bool { return hasPart(e.Value, isSubscription) }) ||
			isSubscription(doc) && strings.Contains(at(doc, "name").Text, "/subscriptions/") ||
			isSubscription(subscriptionSpec(doc))
	},
	decode: decodePubSub,
}

// isSubscription reports whether a map is a subscription that sets how messages are
// redelivered.
func isSubscription(n *syntax.Node) bool { return hasFolded(n, "retrypolicy", "deadletterpolicy") }

// subscriptionSpec returns the subscription in a Config Connector or Crossplane resource, or an
// empty node.
func subscriptionSpec(doc *syntax.Node) *syntax.Node {
	switch {
	case isResource(doc, "pubsub.cnrm.cloud.google.com", "PubSubSubscription"):
		return at(doc, "spec")
	case isResource(doc, "pubsub.gcp.upbound.io", "Subscription"):
		return at(at(doc, "spec"), "forProvider")
	}
	return new(syntax.Node)
}

// deadLetters is the key of the field that names the topic for messages that cannot be
// delivered.
const deadLetters rules.Field = "dead letters"

var pubsubWords = words{
	"max_attempts": "maxDeliveryAttempts", "initial_delay": "minimumBackoff", "max_delay": "maximumBackoff",
	"timeout": "messageRetentionDuration", "attempt_timeout": "ackDeadlineSeconds", deadLetters: "deadLetterTopic",
}

var terraformPubSubWords = words{
	"max_attempts": "max_delivery_attempts", "initial_delay": "minimum_backoff", "max_delay": "maximum_backoff",
	"timeout": "message_retention_duration", "attempt_timeout": "ack_deadline_seconds", deadLetters: "dead_letter_topic",
}

// The defaults of subscriptions, and the limits of Pub/Sub.
const (
	pubsubAttempts     = 5 // also the minimum
	pubsubMostAttempts = 100
	pubsubMin          = 10 * time.Second
	pubsubMax          = 10 * time.Minute // also the maximum
	pubsubAck          = 10 * time.Second // also the minimum
	pubsubMostAck      = 10 * time.Minute
	pubsubRetention    = 7 * 24 * time.Hour
	pubsubLeastKept    = 10 * time.Minute
	pubsubMostKept     = 31 * 24 * time.Hour
	pushMin, pushMax   = 100 * time.Millisecond, time.Minute // if there is no retryPolicy
)

func decodePubSub(d *decoder, doc *value) {
	if doc.has("resource") {
		list := doc.get("resource").get("google_pubsub_subscription")
		for _, key := range list.keys() {
			s := block(list.get(key))
			d.subscription(key, subscription{
				value: s, redelivery: block(s.get("retry_policy")), dead: block(s.get("dead_letter_policy")),
				push: s.has("push_config"), words: terraformPubSubWords,
			})
		}
		doc.get("resource").skipOthers("google_pubsub_subscription")
		doc.skipOthers("resource")
		return
	}
	name, s := path.Base(doc.get("name").text()), doc
	if doc.has("apiVersion") {
		name = resource(doc)
		s = doc.get("spec")
		doc.skipOthers("spec")
		if inner := s.get("forProvider"); inner != nil {
			s.skipOthers("forProvider")
			s = inner
		}
	}
	d.subscription(name, subscription{
		value: s, redelivery: block(s.get("retryPolicy")), dead: block(s.get("deadLetterPolicy")),
		push: hasFolded(at(s.n, "pushConfig"), "pushendpoint") || at(s.n, "pushConfig").IsList(), words: pubsubWords,
	})
}

// A subscription is a subscription with its parts, which may be nil.
type subscription struct {
	*value
	redelivery, dead *value
	push             bool // Pub/Sub sends the messages, and waits for responses
	words            words
}

// subscription adds the policy of a subscription. A message is redelivered if the subscriber
// refuses it or does not acknowledge it in time.
func (d *decoder) subscription(name string, s subscription) {
	retention, ack := s.get(s.words["timeout"]), s.get(s.words["attempt_timeout"])
	topic := cmp.Or(s.get("topic"), s.get("topicRef"))
	s.skipOthers(s.words["timeout"], s.words["attempt_timeout"], "retryPolicy", "deadLetterPolicy", "retry_policy",
		"dead_letter_policy")
	if s.redelivery == nil && s.dead == nil {
		s.skip()
		return
	}
	p := d.policy(name, s.words, s.value, s.redelivery, s.dead)
	p.Timeout = pubsubRetention
	if p.between("timeout", retention, protobuf, pubsubLeastKept, pubsubMostKept); p.Timeout == 0 {
		p.Timeout = pubsubRetention
	}
	if s.push {
		p.AttemptTimeout = pubsubAck
	}
	if p.between("attempt_timeout", ack, in(time.Second), pubsubAck, pubsubMostAck); !s.push {
		p.AttemptTimeout = 0 // clients extend the deadline of a message while they process it
	} else if p.AttemptTimeout == 0 {
		p.AttemptTimeout = pubsubAck
	}
	p.redelivers(s)
	p.deadLetters(s, topic)
	p.expires(s, retention)
}

// redelivers reads the delays. It is not documented how fast they grow.
func (p *Policy) redelivers(s subscription) {
	switch {
	case isOpenValue(s.redelivery):
		s.redelivery.lose("a block that may be absent")
		p.unknown = append(p.unknown, "initial_delay", "max_delay")
	case s.redelivery != nil:
		p.InitialDelay, p.MaxDelay = pubsubMin, pubsubMax
		p.between("initial_delay", s.redelivery.get(s.words["initial_delay"]), protobuf, 0, pubsubMax)
		p.between("max_delay", s.redelivery.get(s.words["max_delay"]), protobuf, 0, pubsubMax)
		p.unknown = append(p.unknown, "base")
	case s.push:
		p.InitialDelay, p.MaxDelay = pushMin, pushMax
	default:
		p.InitialDelay, p.MaxDelay = retry.None, retry.None
		p.remarks = append(p.remarks, "P204") // a message that is not acknowledged is redelivered later
	}
	if p.InitialDelay == p.MaxDelay {
		p.Backoff = retry.BackoffFixed
	}
}

// between reads a duration, and reports it if Pub/Sub does not accept it. Zero means the
// default of a time limit.
func (p *Policy) between(field rules.Field, v *value, format durationFormat, least, most time.Duration) {
	if !p.duration(field, v, format) {
		return
	}
	if d, _ := v.duration(format); d > most || d < least && d > 0 {
		unit := ""
		if strings.HasSuffix(v.n.Text, "s") {
			unit = "s"
		}
		v.mistake("P102", "Pub/Sub refuses %s %s: write %.0f%[5]s to %.0[4]f%[5]s", v.key, v.n.Text, least.Seconds(),
			most.Seconds(), unit)
	}
}

// deadLetters reads how often a message is delivered before it is sent to another topic.
// Without such a topic, the message is redelivered until its retention ends.
func (p *Policy) deadLetters(s subscription, topic *value) {
	p.MaxAttempts = retry.Unlimited
	if s.dead == nil {
		return
	}
	p.MaxAttempts = pubsubAttempts
	if isOpenValue(s.dead) {
		s.dead.lose("a block that may be absent")
		p.unknown = append(p.unknown, "max_attempts")
		return
	}
	attempts := s.dead.get(s.words["max_attempts"])
	if n, ok := attempts.int(); ok && n != 0 {
		if n < pubsubAttempts || n > pubsubMostAttempts {
			attempts.mistake("P102", "Pub/Sub refuses %s %d: write %d to %d", attempts.key, n, pubsubAttempts,
				pubsubMostAttempts)
		} else {
			p.attempts(attempts, 0)
		}
	}
	topicKey := s.words[deadLetters]
	to := cmp.Or(s.dead.get(topicKey), s.dead.get(topicKey+"Ref"))
	if own := nameIn(topic); own != "" && own == nameIn(to) {
		to.d.problem(to.span(), "P300", rules.Error, to.key+" is the topic of the subscription, so a message moves there "+
			"and is delivered again without end: name another topic")
	}
	s.dead.skip(topicKey, topicKey+"Ref", topicKey+"Selector")
}

// nameIn returns a string, or the name in a reference to another resource.
func nameIn(v *value) string {
	if v == nil {
		return ""
	}
	return cmp.Or(v.n.Text, at(v.n, "external").Text, at(v.n, "namespace").Text+"/"+at(v.n, "name").Text)
}

// expires reports that a message may be deleted before it has been delivered the maximum number
// of times.
func (p *Policy) expires(s subscription, retention *value) {
	p.judged = append(p.judged, "P404")
	if s.dead == nil || s.redelivery == nil || p.InitialDelay <= 0 || isOpenValue(retention) || isOpenValue(s.dead) ||
		isOpenValue(s.redelivery.get(s.words["initial_delay"])) || isOpenValue(s.dead.get(s.words["max_attempts"])) {
		return
	}
	if time.Duration(p.MaxAttempts-1)*min(p.InitialDelay, p.MaxDelay) > p.Timeout {
		cmp.Or(retention, s.redelivery).warn("P404", "%s %s deletes a message before it is delivered %d times, with at "+
			"least %s between them: it never moves to %s", s.words["timeout"], duration.Format(p.Timeout), p.MaxAttempts,
			duration.Format(p.InitialDelay), s.words[deadLetters])
	}
}

// isOpenValue reports whether a value is written, but not known yet.
func isOpenValue(v *value) bool { return v != nil && isOpen(v.n) }
