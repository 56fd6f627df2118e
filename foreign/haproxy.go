package foreign

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	retry "github.com/retrygen/retrygen/runtime"
)

// haproxyKind is the kind for the retries of backends in the configuration of HAProxy 3.4.
// Sources: haproxy/haproxy, doc/configuration.txt, retries and retry-on, and
// proxy_parse_retry_on in src/proxy.c.
var haproxyKind = Kind{
	Name: "haproxy", Title: "HAProxy configuration",
	recognize: func(doc *syntax.Node) bool {
		return slices.ContainsFunc(at(doc, "sections").Items, func(s *syntax.Node) bool {
			isDefault := at(s, "section").Text == "defaults"
			return s.Get("retry-on") != nil || s.Get("retries") != nil && !isDefault
		})
	},
	language: (*syntax.Excerpt).HAProxy,
	decode:   decodeHAProxy,
}

// timeoutServer is the setting for the maximum time until a response.
const timeoutServer = "timeout server"

var haproxyWords = words{
	countsRetries: "retries", "retry_on": "retry-on", "attempt_timeout": timeoutServer,
	"initial_delay": fixed + "the turn-around time",
}

// haproxyRetries is the default number of retries.
const haproxyRetries = 3

// haproxyErrors maps the keywords of retry-on, except statuses, to classes.
var haproxyErrors = map[string]retry.Class{
	"conn-failure": retry.ClassNetwork, "empty-response": retry.ClassNetwork, "junk-response": retry.ClassNetwork,
	"0rtt-rejected": retry.ClassNetwork, "response-timeout": retry.ClassTimeout,
}

var haproxyStatuses = []int{401, 403, 404, 408, 421, 425, 429, 500, 501, 502, 503, 504}

// haproxyAll lists the keywords that all-retryable-errors includes.
var haproxyAll = []string{
	"conn-failure", "empty-response", "junk-response", "response-timeout", "0rtt-rejected", "500", "502", "503", "504",
}

// haproxyVariable matches an environment variable without braces.
var haproxyVariable = regexp.MustCompile(`\$(\w+)`)

// A haproxyScope contains the settings of a section and of its defaults, by name.
type haproxyScope map[string]*value

func decodeHAProxy(d *decoder, doc *value) {
	d.partial = d.partial || !hasDefaults(doc.n) // HAProxy may read them from another file
	named := map[string]haproxyScope{}           // defaults; for "", the last ones without a name
	for _, s := range doc.get("sections").items() {
		name, from := haproxyName(s.get("name").text())
		own := haproxySettings(s)
		scope := haproxyScope{}
		switch kind := s.get("section").text(); {
		case kind == "defaults":
			if from != "" {
				maps.Copy(scope, named[from])
			}
			maps.Copy(scope, own)
			named[""], named[name] = scope, scope
		case kind == "frontend" && own["retry-on"] != nil:
			own["retry-on"].mistake("P102", "HAProxy refuses retry-on in a frontend: write it in a backend")
		case kind == "backend" || kind == "listen":
			maps.Copy(scope, named[from])
			maps.Copy(scope, own)
			if own["retries"] != nil || scope["retry-on"] != nil {
				d.haproxyPolicy(name, s, own, scope)
			}
		}
	}
	doc.skip()
}

// hasDefaults reports whether a file has settings for all backends.
func hasDefaults(doc *syntax.Node) bool {
	return slices.ContainsFunc(at(doc, "sections").Items, func(s *syntax.Node) bool {
		return at(s, "section").Text == "defaults"
	})
}

// haproxyName returns the name of a section, and the name of the defaults that follows the word
// from. Either may be missing.
func haproxyName(text string) (name, from string) {
	words := strings.Fields(text)
	if i := slices.Index(words, "from"); i >= 0 && i+1 < len(words) {
		words, from = words[:i], words[i+1]
	}
	if len(words) > 0 {
		name = words[0]
	}
	return name, from
}

// haproxySettings returns those settings of a section that are related to retries. If a keyword
// consists of two words, such as timeout server, the name contains both. If a setting is
// repeated, its last value counts.
func haproxySettings(s *value) haproxyScope {
	own := haproxyScope{}
	set := func(name, text string, v *value) {
		text = haproxyVariable.ReplaceAllString(text, "$${$1}")
		n := *v.n
		n.Text, n.Value = text, text
		own[name] = &value{d: v.d, n: &n, key: name, path: v.path, at: v.at}
	}
	for _, key := range []string{"mode", "retries", "retry-on"} {
		for _, v := range s.get(key).items() {
			set(key, v.n.Text, v)
		}
	}
	for _, v := range s.get("timeout").items() {
		kind, text, _ := strings.Cut(v.n.Text, " ")
		set("timeout "+kind, text, v)
	}
	return own
}

// haproxyPolicy adds the policy of a backend. own contains the settings that are written in the
// backend itself.
func (d *decoder) haproxyPolicy(name string, s *value, own, scope haproxyScope) {
	p := d.policy(cmp.Or(name, "backend"), haproxyWords, s)
	p.MaxAttempts = haproxyRetries + 1
	retries := scope["retries"]
	p.attempts(retries, 1)
	// A retry on the same server waits for the turn-around time. A retry on another server does
	// not wait.
	p.Backoff, p.InitialDelay, p.MaxDelay = retry.BackoffFixed, time.Second, time.Second
	if t, ok := scope["timeout connect"].duration(haproxyTime); ok && t < time.Second {
		p.InitialDelay = orNone(t)
	}
	p.unknown = append(p.unknown, "initial_delay")
	p.duration("attempt_timeout", scope[timeoutServer], haproxyTime)
	on := scope["retry-on"]
	if on == nil {
		p.retryOn(retry.ClassNetwork, nil)
		return
	}
	keywords := strings.Fields(on.text())
	if len(keywords) == 0 { // known only at run time
		p.unknown = append(p.unknown, "retry_on")
		return
	}
	d.haproxyErrors(p, on, keywords)
	mode := scope["mode"]
	isHTTP := mode != nil && (mode.n.Text == "http" || isOpen(mode.n))
	switch {
	case own["retry-on"] == nil || slices.Equal(keywords, []string{"none"}):
	case !isHTTP && !slices.Equal(keywords, []string{"conn-failure"}):
		on.lacks("P109", "retry-on has no effect without mode http: HAProxy ignores it in mode tcp, the default")
	case p.MaxAttempts == 1 && retries != nil && !isOpen(retries.n):
		on.warn("P109", "retry-on has no effect with retries 0: raise retries, or remove it")
	case slices.Contains(keywords, "response-timeout") && scope[timeoutServer] == nil:
		on.lacks("P109", "response-timeout never happens without timeout server: write one")
	}
}

// haproxyErrors reads the keywords of retry-on.
func (d *decoder) haproxyErrors(p *Policy, on *value, keywords []string) {
	if slices.Contains(keywords, "none") {
		if len(keywords) > 1 {
			on.mistake("P102", "HAProxy refuses none in retry-on together with others: write it alone")
		}
		p.MaxAttempts = 1
		return
	}
	for _, keyword := range keywords {
		list := []string{keyword}
		if keyword == "all-retryable-errors" {
			list = haproxyAll
		}
		for _, name := range list {
			status, err := strconv.Atoi(name)
			switch class := haproxyErrors[name]; {
			case class != "":
				p.retryOn(class, on)
			case err == nil && slices.Contains(haproxyStatuses, status):
				p.retryOn(d.http(status, status), on)
			default:
				on.mistake("P102", "HAProxy refuses %s in retry-on: write conn-failure, empty-response, response-timeout, "+
					"503 and the like", syntax.Quote(name))
			}
		}
	}
}

var haproxyUnit = withOneUnit("HAProxy", "us", "ms", "s", "m", "h", "d")

// haproxyTime parses durations with one unit; a number alone counts milliseconds.
func haproxyTime(text string) (time.Duration, error) {
	d, err := either(in(time.Millisecond), haproxyUnit)(strings.TrimSpace(text))
	if err != nil {
		return 0, fmt.Errorf("%s is no time of HAProxy: write 500, for milliseconds, or 30s", syntax.Quote(text))
	}
	return d, nil
}
