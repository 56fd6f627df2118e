package retrygen

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/retrygen/retrygen/policy"
)

// pictured is the policy file of the README, with the schedule that it draws.
const pictured = `version: 1
policies:
  fetch:
    max_attempts: 6
    initial_delay: 500ms
    max_delay: 8s
    jitter: equal
    attempt_timeout: 2s
    timeout: 20s
  endless: {max_attempts: unlimited, timeout: 1h, backoff: fixed}
  once: {max_attempts: 1}
`

// TestPicture keeps docs/schedule.svg the same as retrygen explain -svg fetch,
// and every picture well-formed.
func TestPicture(t *testing.T) {
	file, problems := policy.Check("retry.yaml", []byte(pictured))
	if file == nil {
		t.Fatal(problems)
	}
	for _, p := range file.Policies {
		var svg bytes.Buffer
		if err := p.Picture(&svg); err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(bytes.NewReader(svg.Bytes())); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", p.Name, err)
			}
		}
		if p.Name == "fetch" {
			page(t, filepath.Join("docs", "schedule.svg"), svg.String())
		}
	}
}
