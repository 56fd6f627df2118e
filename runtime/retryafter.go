package retry

import (
	"strconv"
	"strings"
	"time"
)

// ParseRetryAfter reads the value of a Retry-After header (RFC 9110, section
// 10.2.3): a number of seconds, or a date in one of the three forms of section
// 5.6.7, of which the wait from now is returned. A date in the past is no wait.
// A value that is neither, a negative number included, is -1, which [After]
// takes to mean the policy's default.
func ParseRetryAfter(value string, now time.Time) time.Duration {
	switch seconds, err := strconv.ParseUint(value, 10, 63); {
	case err == nil:
		return mulSaturated(time.Second, seconds)
	case value != "" && strings.Trim(value, "0123456789") == "":
		return forever // longer than there are numbers for
	}
	for _, layout := range [...]string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC} {
		if at, err := time.Parse(layout, value); err == nil {
			return max(at.Sub(now), 0)
		}
	}
	return -1
}
