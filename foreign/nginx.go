package foreign

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// A nextUpstream describes when nginx passes a request to the next server. A setting is nil if
// it is not written. In ingress-nginx, the settings are annotations. Source: nginx/nginx,
// ngx_http_upstream_next in src/http/ngx_http_upstream.c.
type nextUpstream struct {
	at                       *value
	conditions, tries, limit *value
	read, opens, sends       *value // timeouts
	partial                  bool   // missing settings may be written elsewhere
	words                    words
	format                   durationFormat
	server                   string // name of the program in messages
	// The defaults.
	attempts    int           // 0: as many as there are servers
	ioTimeout   time.Duration // of reads and writes
	openTimeout time.Duration
}

// The keys of settings that are not fields of a policy.
const (
	nginxOpens      rules.Field = "connect timeout"
	nginxSends      rules.Field = "send timeout"
	nginxConditions rules.Field = "retry_on"
)

// nginxErrors lists the words of proxy_next_upstream. Most of them are failures after which the
// next server is tried.
var nginxErrors = []string{
	"error", "timeout", "invalid_header", "http_500", "http_502", "http_503", "http_504", "http_403", "http_404",
	"http_429", "non_idempotent", "off", "invalid_response", "not_found", "updating",
}

// nginxPolicy adds the policy for a nextUpstream.
func (d *decoder) nginxPolicy(name string, u nextUpstream) *Policy {
	p := d.policy(name, u.words, u.at)
	// Another server is tried immediately.
	p.Backoff, p.InitialDelay, p.MaxDelay = retry.BackoffFixed, retry.None, retry.None
	p.unknown = append(p.unknown, "initial_delay")
	p.nginxTries(u)
	on := d.nginxConditions(p, u)
	p.AttemptTimeout = u.ioTimeout
	p.duration("attempt_timeout", u.read, u.format)
	opens, sends := u.opens.durationOr(u.openTimeout, u.format), u.sends.durationOr(u.ioTimeout, u.format)
	limit, ok := u.limit.duration(u.format)
	if !ok || limit == 0 {
		return p
	}
	p.setDuration("max_elapsed", limit, u.limit)
	p.unknown = append(p.unknown, "max_elapsed") // judged here, because the lengths of the delays are unknown
	if !slices.Contains(on, "timeout") || p.MaxAttempts == 1 || !u.knows(u.conditions) || !u.knows(u.read) ||
		!u.knows(u.opens) || !u.knows(u.sends) {
		return p
	}
	switch read := u.words["attempt_timeout"]; {
	case min(p.AttemptTimeout, opens, sends) >= limit:
		u.limit.warn("P406", "%s %s is not above %s %s and %s %s, so no request is retried after a timeout: raise it, "+
			"or lower them", u.limit.key, duration.Format(limit), read, duration.Format(p.AttemptTimeout), u.words[nginxOpens],
			duration.Format(opens))
	case p.AttemptTimeout >= limit:
		d.problem(u.limit.n.Span, "P406", rules.Info, fmt.Sprintf("%s %s is not above %s %s, so a server that does not "+
			"respond in time is the last one that is tried", u.limit.key, duration.Format(limit), read,
			duration.Format(p.AttemptTimeout)))
	}
	return p
}

// durationOr returns a duration, or absent if the value is absent or not a duration.
func (v *value) durationOr(absent time.Duration, format durationFormat) time.Duration {
	if d, ok := v.duration(format); ok {
		return d
	}
	return absent
}

// knows reports whether it is known what a value is, or that it is absent.
func (u *nextUpstream) knows(v *value) bool {
	return v == nil && !u.partial || v != nil && !isOpen(v.n)
}

// nginxTries reads how many servers are tried, including the first one.
func (p *Policy) nginxTries(u nextUpstream) {
	p.MaxAttempts = u.attempts
	if u.attempts == 0 {
		p.MaxAttempts = retry.Unlimited
	}
	if n, ok := u.tries.int(); ok && n == 0 {
		p.MaxAttempts = retry.Unlimited
	} else if ok {
		p.attempts(u.tries, 0)
	}
	if p.MaxAttempts == retry.Unlimited { // each server is tried once
		p.unknown = append(p.unknown, "max_attempts")
	}
}

// nginxConditions reads which failures are retried, and returns the words for them.
func (d *decoder) nginxConditions(p *Policy, u nextUpstream) (on []string) {
	on = []string{"error", "timeout"}
	if text, ok := u.conditions.scalar("text"); ok {
		on = strings.Fields(text)
	} else if u.conditions != nil {
		p.unknown = append(p.unknown, "retry_on")
	}
	if slices.Contains(on, "off") {
		p.MaxAttempts = 1
		return nil
	}
	for _, name := range on {
		status, err := strconv.Atoi(strings.TrimPrefix(name, "http_"))
		switch {
		case !slices.Contains(nginxErrors, name):
			u.conditions.mistake("P102", "%s refuses %s in %s: separate error, timeout, http_502 and others by spaces", u.server,
				syntax.Quote(name), u.conditions.key)
		case err == nil:
			p.retryOn(d.http(status, status), u.conditions)
		case name == "error", name == "invalid_header":
			p.retryOn(retry.ClassNetwork, u.conditions)
		case name == "timeout":
			p.retryOn(retry.ClassTimeout, u.conditions)
		case name == "non_idempotent":
			u.conditions.note("non_idempotent: requests such as POST are sent again, too")
		}
	}
	return on
}
