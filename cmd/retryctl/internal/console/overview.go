package console

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/override"
)

// overviewData is what the overview shows.
type overviewData struct {
	Counts      *counts // nil: they are not complete
	Seen        int     // records counted so far
	Failure     string  // why they could not be counted
	Runs        []statusCount
	Steps       []statusCount
	Units       []statusCount
	RunTotal    int
	StepTotal   int
	NeedsPerson int
	Waiting     int
	Causes      []causeCount
	Hours       template.HTML
	HoursEmpty  bool
	Overrides   []override.Override // in force
}

// overview shows counts, what waits, and what needs a person.
func (s *Server) overview(ctx context.Context, _ *http.Request) (*page, error) {
	n := s.counter.await(ctx)
	overrides, err := s.Client.Overrides(ctx)
	if err != nil {
		return nil, err
	}
	d := &overviewData{Counts: n, Seen: int(s.counter.seen.Load()), Overrides: overrides}
	if err := s.counter.failure.Load(); err != nil {
		if n == nil {
			return nil, *err
		}
		p, _ := explain(*err)
		d.Failure = p.title
	}
	if n != nil {
		d.Runs, d.Steps, d.Units = byStatus(n.Runs), byStatus(n.Steps), byStatus(n.Units)
		d.RunTotal, d.StepTotal = total(n.Runs), total(n.Steps)
		// A run with steps in doubt is paused.
		d.NeedsPerson = n.Runs[storage.StatusPaused] + n.Steps[storage.StatusDead] + n.Units[storage.StatusDead]
		d.Waiting = n.Steps[storage.StatusWaiting]
		d.Causes = n.causes()
		d.Hours, d.HoursEmpty = n.chart()
	}
	return &page{Name: "overview", Title: "Overview", Data: d, Live: true}, nil
}

// chart draws how many steps have ended in each of the last hours, by how.
func (n *counts) chart() (pictures template.HTML, empty bool) {
	for _, l := range []struct {
		class, id     string
		width, height vg.Length
		every         int
	}{{"chart wide", "hw", 1176, 170, 2}, {"chart narrow", "hn", 360, 150, 8}} {
		c := newCanvas(l.id, l.width, l.height)
		p := newPlot()
		bar := l.width / 24 * 0.45
		grid := plotter.NewGrid()
		grid.Vertical.Width, grid.Horizontal.Color, grid.Horizontal.Width, grid.Horizontal.Dashes = 0, inkGrid, 1, nil
		p.Add(grid)
		var below *plotter.BarChart
		sum := 0.0
		for _, part := range []struct {
			ink ink
			of  func(hour) int
		}{
			{"first", func(h hour) int { return h.First }},
			{"recovered", func(h hour) int { return h.Recovered }},
			{"failed", func(h hour) int { return h.Failed }},
		} {
			values := make(plotter.Values, len(n.Hours))
			for i, h := range n.Hours {
				values[len(values)-1-i] = float64(part.of(h))
				sum += float64(part.of(h))
			}
			bars, err := plotter.NewBarChart(values, bar)
			if err != nil { // for values that are no numbers
				return "", true
			}
			bars.Color, bars.Width = part.ink, bar
			bars.LineStyle.Width = 0
			if below != nil {
				bars.StackOn(below)
			}
			below = bars
			p.Add(bars)
		}
		if sum == 0 {
			return "", true
		}
		p.Y.Min = 0
		p.Y.Tick.Marker = countTicks{}
		p.Y.LineStyle.Width, p.Y.Tick.Length = 0, 0
		p.X.Tick.Marker = hourTicks(l.every)
		p.Draw(c.draw())
		pictures += c.svg(l.class, "steps that ended in each of the last 24 hours")
	}
	return pictures, false
}

// hourTicks names every nth hour before now.
type hourTicks int

// Ticks implements plot.Ticker.
func (n hourTicks) Ticks(_, _ float64) (ticks []plot.Tick) {
	for i := 23; i >= 0; i -= int(n) {
		label := fmt.Sprintf("−%dh", 23-i)
		if i == 23 {
			label = "now"
		}
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: label})
	}
	return ticks
}

// countTicks are those of plot.DefaultTicks that are whole numbers.
type countTicks struct{}

// Ticks implements plot.Ticker.
func (countTicks) Ticks(least, most float64) (ticks []plot.Tick) {
	for _, tick := range (plot.DefaultTicks{}).Ticks(least, most) {
		if tick.Label != "" && tick.Value == float64(int(tick.Value)) {
			tick.Label = short(int(tick.Value))
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

// short returns a count with a unit, as in 12k.
func short(n int) string {
	switch {
	case n >= 1_000_000 && n%100_000 == 0:
		return strconv.FormatFloat(float64(n)/1e6, 'f', -1, 64) + "M"
	case n >= 1000 && n%100 == 0:
		return strconv.FormatFloat(float64(n)/1e3, 'f', -1, 64) + "k"
	}
	return strconv.Itoa(n)
}
