package foreign

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// temporalKind is the kind for a RetryPolicy of Temporal, alone or in the options of activities
// and workflows. Source: temporalio/api, temporal/api/common/v1/message.proto. Programs store
// these options in their own files, under any names.
var temporalKind = Kind{
	Name: "temporal", Title: "Temporal retry policy",
	shape:     true,
	recognize: func(doc *syntax.Node) bool { return hasPart(doc, isTemporal) },
	decode:    func(d *decoder, doc *value) { d.search("", doc, isTemporal, d.temporalPart) },
	encode:    encodeTemporal,
}

// temporalFields lists the fields of a RetryPolicy, folded.
var temporalFields = []string{
	"initialinterval", "backoffcoefficient", "maximuminterval", "maximumattempts", "nonretryableerrortypes",
}

// folded returns a key in lower case and without separators, because Go, Java and JSON spell
// the same words differently.
func folded(key string) string {
	return strings.ToLower(noSeparators.Replace(key))
}

var noSeparators = strings.NewReplacer("_", "", "-", "")

// isTemporalPolicy reports whether a map is a RetryPolicy. A single field that other systems
// also have is not enough.
func isTemporalPolicy(n *syntax.Node) bool {
	found, own := 0, false
	for _, e := range n.Entries {
		if key := folded(e.Key); slices.Contains(temporalFields, key) {
			found++
			own = own || key != "initialinterval"
		}
	}
	return own && (found > 1 || len(n.Entries) == 1)
}

// isTemporalOptions reports whether a map has the options of an activity.
func isTemporalOptions(n *syntax.Node) bool {
	for _, e := range n.Entries {
		key := folded(e.Key)
		limit := key == "starttoclosetimeout" || key == "scheduletoclosetimeout"
		switch {
		case limit && (!e.Value.IsMap() || e.Value.Get("seconds") != nil), // a schema describes such fields with maps
			key == "retrypolicy" && isTemporalPolicy(e.Value):
			return true
		}
	}
	return false
}

// isTemporal reports whether a map is a RetryPolicy, or has the options that contain one.
func isTemporal(n *syntax.Node) bool { return isTemporalPolicy(n) || isTemporalOptions(n) }

var temporalWords = words{
	"max_attempts": "maximumAttempts", "initial_delay": "initialInterval", "max_delay": "maximumInterval",
	"base": "backoffCoefficient", fixedBackoff: "backoffCoefficient: 1", "abort_on": "nonRetryableErrorTypes",
	"attempt_timeout": "startToCloseTimeout", "timeout": "scheduleToCloseTimeout",
}

// temporalPart converts a RetryPolicy, or the options that contain one.
func (d *decoder) temporalPart(name string, v *value) {
	if isTemporalOptions(v.n) {
		d.temporalPolicy(name, v, fieldFolded(v, "retryPolicy"))
	} else {
		d.temporalPolicy(name, nil, v)
	}
}

// fieldFolded returns the field of a map with a name, in any spelling.
func fieldFolded(v *value, name string) *value {
	for _, key := range v.keys() {
		if folded(key) == folded(name) {
			return v.get(key)
		}
	}
	if v != nil {
		v.absent = append(v.absent, name)
	}
	return nil
}

// temporalDuration parses durations as they are written in Go and JSON. A number without a unit
// is in seconds.
func temporalDuration(text string) (time.Duration, error) {
	return either(withUnit, in(time.Second))(text)
}

// temporalPolicy converts the RetryPolicy r and the options that contain it. Either may be nil.
func (d *decoder) temporalPolicy(name string, options, r *value) {
	at := r
	if r == nil {
		at = options
	}
	if name == "" || folded(name) == "retrypolicy" {
		name = "default"
	}
	p := d.policy(name, temporalWords, at, options)
	p.InitialDelay = time.Second
	p.duration("initial_delay", fieldFolded(r, "initialInterval"), temporalDuration)
	p.MaxAttempts = retry.Unlimited
	if v := fieldFolded(r, "maximumAttempts"); v != nil && v.n.Text == "0" {
		v.skip()
		p.from("max_attempts", v)
	} else {
		p.attempts(v, 0)
	}
	p.base(fieldFolded(r, "backoffCoefficient"))
	if !p.duration("max_delay", fieldFolded(r, "maximumInterval"), temporalDuration) || p.MaxDelay < 0 {
		p.MaxDelay = times(p.InitialDelay, 100)
	}
	for _, item := range fieldFolded(r, "nonRetryableErrorTypes").items() {
		if name := item.text(); name != "" {
			p.abortOn(d.pattern(name, `\b`+regexp.QuoteMeta(name)+`\b`), item)
		}
	}
	p.duration("attempt_timeout", fieldFolded(options, "startToCloseTimeout"), temporalDuration)
	p.duration("timeout", fieldFolded(options, "scheduleToCloseTimeout"), temporalDuration)
	if p.Timeout == 0 {
		p.unknown = []rules.Field{"timeout"} // the workflow may end the activity
	}
	fieldFolded(options, "scheduleToStartTimeout").lose("it limits the time in the task queue, and is not retried")
	fieldFolded(options, "heartbeatTimeout").lose("an activity that sends no heartbeat for this time has failed")
}

// times returns a multiple of a duration, or the maximum duration if it overflows.
func times(d time.Duration, n int64) time.Duration {
	const forever = time.Duration(1<<63 - 1)
	if d > forever/time.Duration(n) {
		return forever
	}
	return d * time.Duration(n)
}
