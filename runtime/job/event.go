package job

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
)

// The kinds of a [Event], which are also the messages of [Log].
const (
	RetryBudgetConsumed  = "RetryBudgetConsumed"
	RetryBudgetExhausted = "RetryBudgetExhausted"
	BestEffortCompletion = "BestEffortCompletion"
	BestEffortRatio      = "BestEffortRatio" // the final ratio behind a provisional completion
	LateDatacenterResult = "LateDatacenterResult"
)

// A Event tells what happened in a [Group].
type Event struct {
	Kind   string
	JobID  string
	Unit   string  // but of a completion
	Reason string  // of a refusal or a completion; of a late result: updated or logged
	Ratio  float64 // of a completion
	Err    error   // of a late result, if it was one
}

// Log returns an observer for [Group.Observe] that writes refusals,
// completions and late results to l.
func Log(l *slog.Logger) func(Event) {
	return func(e Event) {
		level := slog.LevelInfo
		switch e.Kind {
		case RetryBudgetConsumed, BestEffortRatio:
			return
		case RetryBudgetExhausted:
			level = slog.LevelWarn
		}
		attrs := []slog.Attr{slog.String("job_id", e.JobID), slog.String("reason", e.Reason)}
		if e.Unit != "" {
			attrs = append(attrs, slog.String("unit", e.Unit))
		}
		if e.Kind == BestEffortCompletion {
			attrs = append(attrs, slog.Float64("ratio", e.Ratio))
		}
		if e.Err != nil {
			attrs = append(attrs, slog.Any("err", e.Err))
		}
		l.LogAttrs(context.Background(), level, e.Kind, attrs...)
	}
}

// Metrics counts the events of groups, under the names of AD-44. The zero
// value is ready; any number of goroutines may use it.
type Metrics struct {
	mu     sync.Mutex
	values map[string]float64 // by name and labels
}

// Observe counts one event: it is an observer for [Group.Observe].
func (m *Metrics) Observe(e Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil {
		m.values = map[string]float64{}
	}
	label := func(name, key, value string) string { return name + "{" + key + `="` + escape.Replace(value) + `"}` }
	switch e.Kind {
	case RetryBudgetConsumed:
		m.values[label("retry_budget_consumed_total", "job_id", e.JobID)]++
	case RetryBudgetExhausted:
		m.values[label("retry_budget_exhausted_total", "job_id", e.JobID)]++
	case BestEffortCompletion:
		reason, _, _ := strings.Cut(strings.TrimPrefix(e.Reason, "best_effort: "), " ")
		m.values[label("best_effort_completions_total", "reason", reason)]++
		m.values[label("best_effort_completion_ratio", "job_id", e.JobID)] = e.Ratio
	case BestEffortRatio:
		m.values[label("best_effort_completion_ratio", "job_id", e.JobID)] = e.Ratio
	case LateDatacenterResult:
		m.values[label("best_effort_late_results_total", "outcome", e.Reason)]++
	}
}

// escape escapes the value of a label: the text format knows these only.
var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// Write writes the counts in the text format of Prometheus, sorted.
func (m *Metrics) Write(w io.Writer) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(m.values)) {
		if _, err := fmt.Fprintf(w, "%s %v\n", name, m.values[name]); err != nil {
			return err
		}
	}
	return nil
}
