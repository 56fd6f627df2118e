package foreign

import (
	"cmp"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
)

// The Kafka producer in the configuration of Spring. Sources: apache/kafka, ProducerConfig, and
// configureDeliveryTimeout in KafkaProducer.

var producerWords = words{
	countsRetries: "retries", "initial_delay": "retry.backoff.ms", "max_delay": "retry.backoff.max.ms",
	"attempt_timeout": "request.timeout.ms", "timeout": "delivery.timeout.ms",
}

// The defaults of a producer since Kafka 3.7.
const (
	producerDelivery = 2 * time.Minute
	producerRequest  = 30 * time.Second
	producerFirst    = 100 * time.Millisecond
	producerMost     = time.Second
	producerRandom   = 0.2
)

// deliveryTimeout is the setting that limits the time of a record, including all retries. A
// producer that does not set it is not checked, because its retries end after the default time.
const deliveryTimeout = "delivery.timeout.ms"

// hasProducer reports whether the configuration of Spring limits the time of a producer's
// records.
func hasProducer(spring *syntax.Node) bool {
	for _, path := range [][]string{{"kafka", "properties"}, {"kafka", "producer", "properties"}} {
		for _, n := range foldedIn(spring, append(path, strings.Split(deliveryTimeout, ".")...)) {
			if n.Text != "" {
				return true
			}
		}
	}
	return false
}

// kafkaProducer adds the policy of the producer. The settings of Kafka are in the properties of
// the producer or of all clients.
func (d *decoder) kafkaProducer(spring *value) {
	kafka := fieldFolded(spring, "kafka")
	producer := fieldFolded(kafka, "producer")
	setting := func(name string) *value {
		for _, v := range []*value{fieldFolded(producer, "properties"), fieldFolded(kafka, "properties")} {
			for step := range strings.SplitSeq(name, ".") {
				v = v.get(step)
			}
			if v != nil && !v.n.IsMap() {
				v.key = name
				return v
			}
		}
		return nil
	}
	p := d.policy("kafka_producer", producerWords, cmp.Or(producer, kafka))
	p.MaxAttempts, p.InitialDelay, p.MaxDelay = retry.Unlimited, producerFirst, producerMost
	p.Jitter, p.JitterFactor = retry.JitterProportional, producerRandom
	retries := cmp.Or(fieldFolded(producer, "retries"), setting("retries"))
	if n, ok := retries.int(); ok && n < 1<<31-1 { // the default
		p.attempts(retries, 1)
	}
	if retries != nil && p.MaxAttempts == 1 && setting("enable.idempotence").text() == "true" {
		retries.mistake("P109", "Kafka refuses retries 0 with enable.idempotence true: raise retries")
	}
	p.duration("initial_delay", setting("retry.backoff.ms"), in(time.Millisecond))
	p.duration("max_delay", setting("retry.backoff.max.ms"), in(time.Millisecond))
	p.AttemptTimeout, p.Timeout = producerRequest, producerDelivery
	delivery, request, linger := setting(deliveryTimeout), setting("request.timeout.ms"), setting("linger.ms")
	p.duration("timeout", delivery, in(time.Millisecond))
	p.duration("attempt_timeout", request, in(time.Millisecond))
	p.judged = append(p.judged, "P401")
	p.remarks = append(p.remarks, "P404", "P405") // as many attempts as fit
	if delivery == nil || isOpen(delivery.n) || isOpenValue(request) || isOpenValue(linger) ||
		request == nil && d.partial {
		return
	}
	waits := linger.durationOr(0, in(time.Millisecond))
	if p.Timeout >= p.AttemptTimeout+waits {
		return
	}
	needed := "request.timeout.ms " + duration.Format(p.AttemptTimeout)
	if waits > 0 {
		needed += " and linger.ms " + duration.Format(waits) + " together"
	}
	delivery.mistake("P401", "Kafka refuses delivery.timeout.ms %s below %s: raise it", duration.Format(p.Timeout), needed)
}
