package httpretry

import (
	"cmp"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Hint returns how long a response asks its client to wait before the next
// request, for [retry.After]. asked reports whether it asks at all. A wait of
// -1 means that it asks, but not readably for how long.
//
// The field Retry-After decides alone if it is present. Without it, these
// fields count if the quota that they describe is used up, or if the status is
// 429 and the quota that is left is not given:
//
//   - RateLimit, with RateLimit-Policy for the window of a quota whose reset is
//     not given (draft-ietf-httpapi-ratelimit-headers), also in its older form
//     with limit, remaining and reset;
//   - RateLimit-Remaining and RateLimit-Reset, and X-RateLimit-Remaining and
//     X-RateLimit-Reset. The reset is a number of seconds, or a time: in seconds
//     or milliseconds since 1970, or as Retry-After has it.
//
// Many servers send the latter with every response. The reset of a quota that is
// not used up is no reason to wait.
func Hint(resp *http.Response, now time.Time) (wait time.Duration, asked bool) {
	if value := resp.Header.Get("Retry-After"); value != "" {
		return ParseRetryAfter(value, now), true
	}
	limited := resp.StatusCode == http.StatusTooManyRequests
	if wait, asked = rateLimit(resp.Header, limited); asked {
		return wait, true
	}
	for _, prefix := range [...]string{"RateLimit-", "X-RateLimit-"} {
		reset := strings.TrimSpace(resp.Header.Get(prefix + "Reset"))
		if reset == "" || !usedUp(resp.Header.Get(prefix+"Remaining"), limited) {
			continue
		}
		return parseReset(reset, now), true
	}
	return 0, false
}

// ParseRetryAfter reads the value of a Retry-After field (RFC 9110, section
// 10.2.3): a number of seconds, or a date in one of the three forms of section
// 5.6.7, of which the wait from now is returned. A date in the past is no wait.
// Of a value that is neither, such as a negative number, the result is -1.
func ParseRetryAfter(value string, now time.Time) time.Duration {
	if wait, ok := parseSeconds(value); ok {
		return wait
	}
	for _, layout := range [...]string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC} {
		if at, err := time.Parse(layout, value); err == nil {
			return max(at.Sub(now), 0)
		}
	}
	return -1
}

// parseSeconds reads a number of seconds. One that is too great for a duration
// is the greatest duration.
func parseSeconds(value string) (wait time.Duration, ok bool) {
	if value == "" || strings.Trim(value, "0123456789") != "" {
		return 0, false
	}
	seconds, err := strconv.ParseInt(value, 10, 64)
	if err != nil || seconds > int64(math.MaxInt64/time.Second) {
		return math.MaxInt64, true
	}
	return time.Duration(seconds) * time.Second, true
}

// Numbers of seconds from which on a reset is a time rather than a wait: the
// first is in 2001, and a wait of 30 years. The second is in milliseconds.
const (
	firstTime   = 1e9
	firstMillis = 1e12
)

// parseReset reads the value of X-RateLimit-Reset, for which there is no
// standard.
func parseReset(value string, now time.Time) time.Duration {
	number, err := strconv.ParseFloat(value, 64)
	switch {
	case err != nil:
		return ParseRetryAfter(value, now)
	case math.IsNaN(number) || number < 0:
		return -1
	case number >= firstMillis*1e3:
		return math.MaxInt64
	case number >= firstMillis:
		return max(time.UnixMilli(int64(number)).Sub(now), 0)
	case number >= firstTime:
		return max(time.Unix(int64(math.Ceil(number)), 0).Sub(now), 0)
	}
	return time.Duration(math.Ceil(number*1e3)) * time.Millisecond
}

// usedUp reports whether a quota of which remaining is left is used up. limited
// reports whether the response is a 429.
func usedUp(remaining string, limited bool) bool {
	left, err := strconv.ParseFloat(strings.TrimSpace(remaining), 64)
	if err != nil {
		return limited
	}
	return left <= 0
}

// rateLimit reads the field RateLimit. The wait is that of the quota that is
// the last to be reset.
func rateLimit(h http.Header, limited bool) (wait time.Duration, asked bool) {
	var windows map[string]map[string]string
	for name, quota := range fields(h.Values("RateLimit")) {
		remaining, reset := cmp.Or(quota["r"], quota["remaining"]), cmp.Or(quota["t"], quota["reset"])
		if !usedUp(remaining, limited) {
			continue
		}
		if reset == "" {
			if windows == nil {
				windows = fields(h.Values("RateLimit-Policy"))
			}
			reset = windows[name]["w"]
		}
		if d, ok := parseSeconds(reset); ok {
			wait, asked = max(wait, d), true
		}
	}
	return wait, asked
}

// fields reads a list of structured fields (RFC 9651): strings or tokens with
// parameters, by name. Members without a name of their own, as in "limit=10,
// remaining=0, reset=5", are parameters of the name "".
func fields(values []string) map[string]map[string]string {
	list := map[string]map[string]string{}
	for member := range split(strings.Join(values, ","), ',') {
		name, first := "", true
		for part := range split(member, ';') {
			part = strings.TrimSpace(part)
			key, value, parameter := strings.Cut(part, "=")
			if first && (!parameter || strings.HasPrefix(part, `"`)) {
				name, parameter = part, false
			}
			first = false
			if list[name] == nil {
				list[name] = map[string]string{}
			}
			if parameter {
				list[name][strings.ToLower(strings.TrimSpace(key))] = strings.Trim(strings.TrimSpace(value), `"`)
			}
		}
	}
	return list
}

// split returns the parts of text between separators outside of quotes.
func split(text string, separator byte) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		start, quoted := 0, false
		for i := 0; i < len(text); i++ {
			switch {
			case quoted && text[i] == '\\':
				i++
			case text[i] == '"':
				quoted = !quoted
			case text[i] == separator && !quoted:
				if !yield(text[start:i]) {
					return
				}
				start = i + 1
			}
		}
		yield(text[start:])
	}
}
