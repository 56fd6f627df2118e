package console

import (
	"html/template"
	"math"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/retrygen/retrygen/policy/duration"
)

// A timeline is the picture of the steps of a run: a row for each, with a bar for
// each attempt and a hatched one for each wait.
type timeline struct {
	From, To time.Time
	rows     []timelineRow
}

type timelineRow struct {
	name string
	href string
	bars []timelineBar
}

// A timelineBar is a time in which an attempt was executed, or a step waited.
type timelineBar struct {
	class    string // an outcome, a tone, or the ink of a wait
	from, to time.Time
	title    string
}

// minBar is the width of the bar of an attempt that is too short to be seen.
const minBar = 3

// A timelineLayout is how a timeline is drawn on a screen of some width.
type timelineLayout struct {
	class, id      string
	width          vg.Length
	label          vg.Length // the column of the names; 0: they are above their bars
	row, bar, font vg.Length
	ticks          int
}

var timelineLayouts = []timelineLayout{
	{class: "chart wide", id: "tw", width: 1176, label: 280, row: 24, bar: 14, font: 12, ticks: 9},
	{class: "chart narrow", id: "tn", width: 360, row: 38, bar: 14, font: 12, ticks: 4},
}

// SVG returns the timeline for wide and for narrow screens, of which the style sheet
// shows one.
func (t *timeline) SVG() (pictures template.HTML) {
	for i := range timelineLayouts {
		pictures += t.draw(&timelineLayouts[i])
	}
	return pictures
}

const axisHeight = 26

// draw draws the timeline in a layout.
func (t *timeline) draw(l *timelineLayout) template.HTML {
	height := vg.Length(len(t.rows))*l.row + axisHeight
	c := newCanvas(l.id, l.width, height)
	p := newPlot()
	p.HideY()
	p.X.Min, p.X.Max = 0, max(t.To.Sub(t.From).Seconds(), 1e-3)
	p.Y.Min, p.Y.Max = 0, float64(len(t.rows))
	p.X.Padding, p.Y.Padding = 0, 0
	p.X.Tick.Marker = durationTicks(l.ticks)
	p.Add(&timelinePlotter{t, l, c})
	p.Draw(draw.Crop(c.draw(), l.label+8, -14, 0, 0))
	return c.svg(l.class, "timeline of the steps: the tables below have the same")
}

// A timelinePlotter is a plot.Plotter.
type timelinePlotter struct {
	*timeline
	*timelineLayout
	out *canvas
}

// Plot implements plot.Plotter.
func (t *timelinePlotter) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	out := t.out
	for i := 0; i < len(t.rows); i += 2 {
		top := y(float64(len(t.rows) - i))
		out.box(string(inkRow), vg.Rectangle{
			Min: vg.Point{X: 0, Y: top - t.timelineLayout.row}, Max: vg.Point{X: t.width, Y: top},
		}, 0)
	}
	for _, tick := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		c.StrokeLine2(draw.LineStyle{Color: inkGrid, Width: 1}, x(tick.Value), c.Min.Y, x(tick.Value), c.Max.Y)
	}
	for i, row := range t.rows {
		top := y(float64(len(t.rows) - i))
		t.drawRow(out, row, top, x)
	}
}

// drawRow draws the name of a step and its bars, below top.
func (t *timelinePlotter) drawRow(out *canvas, row timelineRow, top vg.Length, x func(float64) vg.Length) {
	middle, name := top-t.timelineLayout.row/2, vg.Point{X: 8, Y: top - t.timelineLayout.row/2 - 4}
	space := t.label - 8
	if t.label == 0 {
		name.Y, middle, space = top-15, top-t.timelineLayout.row+t.bar/2+4, t.width-16
	}
	out.group(row.href, row.name, func() {
		out.text(inkText, float64(t.font), name, "start", clipText(row.name, int(space/(t.font*0.64))))
	})
	at := func(time time.Time) vg.Length {
		return x(min(max(time.Sub(t.From).Seconds(), 0), t.To.Sub(t.From).Seconds()))
	}
	for _, b := range row.bars {
		left, right := at(b.from), at(b.to)
		half := t.bar / 2
		if b.class == string(inkWait) {
			half -= 2
		} else {
			right = max(right, left+minBar)
		}
		out.group("", b.title, func() {
			out.box(b.class, vg.Rectangle{
				Min: vg.Point{X: left, Y: middle - half}, Max: vg.Point{X: right, Y: middle + half},
			}, 2)
		})
	}
}

// clipText returns text of at most n characters, without its middle if it is longer:
// ids differ at their ends.
func clipText(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n || n < 3 {
		return text
	}
	return string(runes[:n/2]) + "…" + string(runes[len(runes)-(n-n/2-1):])
}

// newPlot returns a plot in the inks of the style sheet.
func newPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Color, axis.Width = inkAxis, 1
		axis.Tick.Color, axis.Tick.Width = inkAxis, 1
		axis.Tick.Length = 4
		axis.Tick.Label.Color = inkAxis
		axis.Tick.Label.Font = font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, 11)
	}
	return p
}

// durationTicks is a plot.Ticker of round times after the start: at most that many.
type durationTicks int

// Ticks implements plot.Ticker.
func (n durationTicks) Ticks(least, most float64) (ticks []plot.Tick) {
	step := roundDuration((most - least) / float64(n))
	for k := math.Ceil(least / step); k*step <= most; k++ {
		value := time.Duration(math.Round(k * step * 1e9))
		label := "+" + duration.Format(value)
		if value == 0 {
			label = "0s"
		}
		ticks = append(ticks, plot.Tick{Value: k * step, Label: label})
	}
	return ticks
}

// roundDuration returns the least round number of seconds that is not below s.
func roundDuration(s float64) float64 {
	steps := []float64{60, 120, 300, 600, 900, 1800, 3600, 7200, 3 * 3600, 6 * 3600, 12 * 3600, 86400}
	if s <= 30 { // 1, 2, 3 or 5 of a power of ten, or 15 or 30
		for power := 1e-6; ; power *= 10 {
			for _, digit := range []float64{1, 2, 5} {
				if s <= digit*power && digit*power <= 30 {
					return digit * power
				}
			}
			if power >= 10 {
				return 30
			}
		}
	}
	for _, step := range steps {
		if s <= step {
			return step
		}
	}
	return 86400 * math.Ceil(s/86400)
}
