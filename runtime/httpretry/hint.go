package httpretry

import (
	"cmp"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Hint returns how long a response asks its client to wait before the next request, for
// [retry.After]. asked reports whether it asks for a wait. A wait of -1 means that the
// requested wait cannot be parsed.
//
// The header fields Retry-After-Ms, X-Ms-Retry-After-Ms and X-Amz-Retry-After are in
// milliseconds, and take precedence over Retry-After. If one of these four is present, no
// other field is read. Otherwise, the following fields are read if the quota that they
// describe is used up, or if the status is 429 and the remaining quota is not given:
//
//   - RateLimit (draft-ietf-httpapi-ratelimit-headers), also in its older form
//     with limit, remaining and reset. If the reset of a quota is not given, it is
//     the window in RateLimit-Policy;
//   - RateLimit-Remaining and RateLimit-Reset, and X-RateLimit-Remaining and
//     X-RateLimit-Reset. The reset is a number of seconds or a time. The time is in
//     seconds or milliseconds since 1970, or in one of the formats of Retry-After.
//
// Many servers send these fields with every response, but as long as the quota is not
// used up, there is no reason to wait for its reset.
func Hint(resp *http.Response, now time.Time) (wait time.Duration, asked bool) {
	return hint(resp.Header, resp.StatusCode, now)
}

// hint returns the hint of a response with that header and status.
func hint(header http.Header, status int, now time.Time) (wait time.Duration, asked bool) {
	for _, name := range inMillis {
		if value := header.Get(name); value != "" {
			return parseMillis(value), true
		}
	}
	if value := header.Get("Retry-After"); value != "" {
		return ParseRetryAfter(value, now), true
	}
	limited := status == http.StatusTooManyRequests
	if wait, asked = rateLimit(header, limited); asked {
		return wait, true
	}
	for _, prefix := range [...]string{"Ratelimit-", "X-Ratelimit-"} { // in the form of the keys of a Header
		reset := strings.TrimSpace(header.Get(prefix + "Reset"))
		if reset == "" || !usedUp(header.Get(prefix+"Remaining"), limited) {
			continue
		}
		return parseReset(reset, now), true
	}
	return 0, false
}

// inMillis are the fields that ask for a wait in milliseconds: of OpenAI, Azure
// and AWS.
var inMillis = [...]string{"Retry-After-Ms", "X-Ms-Retry-After-Ms", "X-Amz-Retry-After"}

// parseMillis parses a number of milliseconds, and saturates at the greatest
// Duration. The result is -1 for any other value.
func parseMillis(value string) time.Duration {
	millis, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	switch wait := millis * float64(time.Millisecond); {
	case err != nil || !(millis >= 0):
		return -1
	case wait >= math.MaxInt64:
		return math.MaxInt64
	default:
		return time.Duration(wait)
	}
}

// ParseRetryAfter returns the wait that the value of a Retry-After field asks for (RFC
// 9110, section 10.2.3). The value is a number of seconds, or a date in one of the three
// formats of section 5.6.7. For a date, the result is the time from now until that date,
// or 0 if it is in the past. For any other value, such as a negative number, the result
// is -1.
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

// parseSeconds parses a number of seconds, and saturates at the greatest
// Duration.
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

// A reset of at least one of these numbers is a time since 1970 rather than a
// wait in seconds.
const (
	firstTime   = 1e9  // in seconds: in the year 2001; as a wait, 30 years
	firstMillis = 1e12 // the same time in milliseconds
)

// parseReset returns the wait that the value of X-RateLimit-Reset asks for. There
// is no standard for this field.
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

// usedUp reports whether a quota is used up. remaining is the value of its field,
// and may be empty. limited is whether the response has status 429.
func usedUp(remaining string, limited bool) bool {
	left, err := strconv.ParseFloat(strings.TrimSpace(remaining), 64)
	if err != nil {
		return limited
	}
	return left <= 0
}

// rateLimit returns the wait that the field RateLimit asks for: the time until
// the last of the quotas that are used up is reset.
func rateLimit(h http.Header, limited bool) (wait time.Duration, asked bool) {
	fields := h.Values("Ratelimit")
	if len(fields) == 0 {
		return 0, false // the usual case: nothing to allocate
	}
	var windows map[string]map[string]string
	for name, quota := range parseFields(fields) {
		remaining, reset := cmp.Or(quota["r"], quota["remaining"]), cmp.Or(quota["t"], quota["reset"])
		if !usedUp(remaining, limited) {
			continue
		}
		if reset == "" {
			if windows == nil {
				windows = parseFields(h.Values("RateLimit-Policy"))
			}
			reset = windows[name]["w"]
		}
		if d, ok := parseSeconds(reset); ok {
			wait, asked = max(wait, d), true
		}
	}
	return wait, asked
}

// parseFields parses a list of structured fields (RFC 9651): strings or tokens
// with parameters. It returns the parameters by name. Members without a name, as
// in "limit=10, remaining=0, reset=5", are parameters of the name "".
func parseFields(values []string) map[string]map[string]string {
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

// split returns the parts of text between separators. Separators inside quotes do
// not count.
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
