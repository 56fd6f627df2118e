package promretry

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/retrygen/retrygen/internal/measure"
)

// TestDashboard: the dashboard and the alert rules name metrics and labels that exist.
func TestDashboard(t *testing.T) {
	dashboard, err := os.ReadFile("dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	alerts, err := os.ReadFile("alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var content struct {
		Panels []struct {
			Title, Description string
			Targets            []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(dashboard, &content); err != nil {
		t.Fatal(err)
	}
	labels := map[string][]string{}
	for _, i := range slices.Concat(measure.Instruments[:], measure.StateGauges[:], measure.PolledInstruments[:]) {
		names := []string{i.Prometheus}
		if i.Kind == measure.Histogram {
			names = []string{i.Prometheus + "_bucket"}
		}
		for _, name := range names {
			labels[name] = []string{"job", "le"}
			for _, l := range i.Labels {
				labels[name] = append(labels[name], l.Prometheus)
			}
		}
	}
	metric := regexp.MustCompile(`\b(?:retry|best_effort)_\w+`)
	by := regexp.MustCompile(`by \(([^)]*)\)`)
	label := regexp.MustCompile(`(\w+)(?:=~|!=|=)"`)
	check := func(expr string) {
		names := metric.FindAllString(expr, -1)
		if len(names) == 0 || strings.Count(expr, "(") != strings.Count(expr, ")") {
			t.Errorf("%s: no metric, or a parenthesis is missing", expr)
		}
		var wants []string
		for _, m := range by.FindAllStringSubmatch(expr, -1) {
			wants = append(wants, strings.Split(m[1], ", ")...)
		}
		for _, m := range label.FindAllStringSubmatch(expr, -1) {
			wants = append(wants, m[1])
		}
		known := []string{}
		for _, name := range names {
			if labels[name] == nil {
				t.Errorf("%s: there is no metric %s", expr, name)
			}
			known = append(known, labels[name]...)
		}
		for _, want := range wants {
			if !slices.Contains(known, want) {
				t.Errorf("%s: the metrics have no label %s", expr, want)
			}
		}
	}
	for _, p := range content.Panels {
		if len(p.Targets) > 0 && (p.Title == "" || p.Description == "") {
			t.Errorf("panel %q has no title or no description", p.Title)
		}
		for _, target := range p.Targets {
			check(target.Expr)
		}
	}
	rules := strings.Split(string(alerts), "- alert: ")
	for _, rule := range rules[1:] {
		_, expr, _ := strings.Cut(rule, "expr:")
		for _, end := range []string{"\n        for:", "\n        labels:"} {
			expr, _, _ = strings.Cut(expr, end)
		}
		check(expr)
	}
	if len(rules) < 8 || len(content.Panels) < 15 {
		t.Errorf("%d rules and %d panels were found", len(rules)-1, len(content.Panels))
	}
}
