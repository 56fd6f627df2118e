package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/storm"
)

// testPage returns a page with texts that must be escaped, and all kinds of figures.
func testPage(t *testing.T) *Page {
	t.Helper()
	client := storm.Client{
		Policy: retry.Policy{
			Name: "<read>", Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: 100 * time.Millisecond},
			AttemptTimeout: 300 * time.Millisecond,
		},
		Breaker: &breaker.Policy{Name: "b", FailureRate: 0.5, OpenFor: time.Second},
		Budget:  &budget.Policy{Name: "b"},
	}
	limits, tokens := client.Breaker.Effective(), client.Budget.Effective()
	client.Breaker, client.Budget = &limits, &tokens
	system := &storm.System{
		Name: "storm.yaml",
		Services: []storm.Service{
			{Name: "a&b", Workers: 10, Time: storm.ExponentialTime(20 * time.Millisecond), Queue: 50},
		},
		Loads: []storm.Load{{Name: "</script>", Target: storm.Target{Service: "a&b", Client: client}, Rate: 200}},
		Events: []storm.Event{
			{At: 10 * time.Second, For: 5 * time.Second, Service: "a&b", Effect: storm.Capacity, Factor: 0.2},
		},
		Length: 40 * time.Second,
	}
	result, err := storm.Simulate(system, storm.Options{Seeds: 2})
	if err != nil {
		t.Fatal(err)
	}
	return &Page{Title: "A & <B>", Sections: []Section{{
		Title: "<one>", Verdict: "recovers", Good: true, Why: []string{"1 < 2", strings.Repeat("long ", 100)},
		System: system.Describe(), Result: result,
	}}}
}

// TestSVG: the image is well-formed, has a name for each line, and refers to nothing.
func TestSVG(t *testing.T) {
	var b bytes.Buffer
	if err := testPage(t).SVG(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	wellFormed(t, text)
	for _, name := range []string{"offered", "succeeded", "capacity", "queue", "begin", "p99", "open", "left", "refused"} {
		if !strings.Contains(text, ">"+name+"</text>") {
			t.Errorf("no line has the name %s", name)
		}
	}
	selfContained(t, text)
}

// TestHTML: the page escapes all texts and refers to no other file.
func TestHTML(t *testing.T) {
	var b bytes.Buffer
	if err := testPage(t).HTML(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, raw := range []string{"<one>", "<read>", "<B>", "ZgotmplZ", "{{", "NaN"} {
		if strings.Contains(text, raw) {
			t.Errorf("the page contains %s", raw)
		}
	}
	if n := strings.Count(text, "</script>"); n != 1 {
		t.Errorf("the page has %d ends of scripts, want 1", n)
	}
	for _, image := range regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(text, -1) {
		wellFormed(t, image)
	}
	selfContained(t, text)
}

// wellFormed reports text that is not XML, or has a coordinate that is no number.
func wellFormed(t *testing.T, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Error("a coordinate is no number")
	}
}

// selfContained reports references to other files.
func selfContained(t *testing.T, text string) {
	t.Helper()
	text = strings.ReplaceAll(text, `xmlns="http://www.w3.org/2000/svg"`, "")
	if found := regexp.MustCompile(`https?://|src=|url\(|@import`).FindString(text); found != "" {
		t.Errorf("the text refers to another file: %s", found)
	}
}

// TestTicks: the axis ends at a tick at or above the greatest value, with at most five ticks.
func TestTicks(t *testing.T) {
	for _, most := range []float64{1e-3, 0.7, 1, 3, 9.99, 10, 812, 1234, 143_000, 2.5e7} {
		f := &figure{most: most}
		if f.axis() < most || f.axis() > 2*most || f.axis()/f.tick() > 5 {
			t.Errorf("%v: the axis ends at %v with ticks of %v", most, f.axis(), f.tick())
		}
	}
}
