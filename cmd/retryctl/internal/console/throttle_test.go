package console

import (
	"fmt"
	"testing"
	"time"
)

// An address may try ten times at once, and then once in six seconds; others, and the
// same one later, are not concerned.
func TestThrottle(t *testing.T) {
	throttle, now := newThrottle(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	try := func(peer string, want time.Duration) {
		t.Helper()
		if got := throttle.admit(peer, now); got != want {
			t.Errorf("%s has to wait %v, want %v", peer, got, want)
		}
	}
	for port := range loginBurst {
		try(fmt.Sprint("192.0.2.1:", 1000+port), 0)
		try(fmt.Sprintf("[2001:db8::%d]:80", port), 0)
	}
	try("192.0.2.1:80", loginPeriod)
	try("[::ffff:192.0.2.1]:80", loginPeriod)
	try("[2001:db8::ff]:80", loginPeriod)
	now = now.Add(loginPeriod / 2)
	try("192.0.2.1:80", loginPeriod/2)
	now = now.Add(loginPeriod / 2)
	try("192.0.2.1:80", 0)
	try("192.0.2.1:80", loginPeriod)
	now = now.Add(time.Hour)
	for range loginBurst {
		try("192.0.2.1:80", 0)
	}
	others := 0 // a few of many share the place
	for i := range 100 {
		if throttle.admit(fmt.Sprintf("198.51.100.%d:80", i), now) > 0 {
			others++
		}
	}
	if others > 5 {
		t.Errorf("%d of 100 other addresses are concerned", others)
	}
}
