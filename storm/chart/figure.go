package chart

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/retrygen/retrygen/storm"
)

// A figure is one chart: values for each second.
type figure struct {
	title string
	unit  string // of the values: "", "s" or "%"
	lines []line
	stack []line // stacked areas, from the bottom
	level *level // a horizontal line, or nil
	most  float64
	step  float64 // seconds between two values
	bands []band
}

// A line is a series of values with a name. Its class has the color.
type line struct {
	name, class string
	values      []float64
}

// A level is a value that does not change, such as a capacity.
type level struct {
	name  string
	value float64
}

// A band is the time of an event, in seconds.
type band struct{ from, to float64 }

// maxPoints is the maximum number of points of a line. In longer simulations, each point is a
// mean.
const maxPoints = 480

// figures returns the figures of a result: first those of services, and then those of loads.
func figures(r *storm.Result) (list []*figure) {
	services, routes := r.Series()
	for i := range services {
		s := &services[i]
		list = append(list, &figure{
			title: s.Name + ": requests per second",
			stack: []line{{"succeeded", "good", s.Good}, {"failed", "failed", s.Failed}, {"wasted", "wasted", s.Wasted}},
			lines: []line{{"offered", "offered", s.Offered}},
			level: &level{"capacity", s.Capacity},
		})
		if slices.Max(s.Refused)+slices.Max(s.Dropped) > 0 {
			last := list[len(list)-1]
			last.lines = append(last.lines, line{"refused", "refused", sum(s.Refused, s.Dropped)})
		}
		list = append(list, &figure{
			title: s.Name + ": requests in the queue", lines: []line{{"queue", "offered", s.Queue}},
		})
	}
	for i := len(routes) - len(r.System.Loads); i < len(routes); i++ {
		v := &routes[i]
		list = append(list, &figure{
			title: v.From + ": calls per second",
			lines: []line{{"begin", "offered", v.Calls}, {"succeed", "good", v.OK}},
		}, &figure{
			title: v.From + ": time of calls that succeed", unit: "s",
			lines: []line{{"p99", "wasted", v.P99}, {"p50", "good", v.P50}},
		})
	}
	for i := range routes {
		v := &routes[i]
		f := &figure{title: v.From + " to " + v.To + ": ", unit: "%", most: 1}
		var names []string
		if v.HasBreaker {
			f.lines = append(f.lines, line{"open", "wasted", v.Open})
			names = append(names, "breakers that are not closed")
		}
		if v.HasBudget {
			f.lines = append(f.lines, line{"left", "good", v.Tokens})
			names = append(names, "budget left")
		}
		if f.title += strings.Join(names, ", "); names != nil {
			list = append(list, f)
		}
	}
	for _, f := range list {
		f.step = 1
		f.thin()
		f.bands = bands(r.System)
		f.most = max(f.most, f.greatest())
	}
	return list
}

// bands returns the times of the events.
func bands(s *storm.System) (list []band) {
	for i := range s.Events {
		e := &s.Events[i]
		list = append(list, band{e.At.Seconds(), (e.At + e.For).Seconds()})
	}
	return list
}

func sum(a, b []float64) []float64 {
	list := slices.Clone(a)
	for i := range list {
		list[i] += b[i]
	}
	return list
}

// thin replaces the values by means if there are more than maxPoints.
func (f *figure) thin() {
	for _, list := range [][]line{f.lines, f.stack} {
		for i := range list {
			n := len(list[i].values)
			each := (n + maxPoints - 1) / maxPoints
			if each <= 1 {
				continue
			}
			f.step = float64(each)
			var thin []float64
			for part := range slices.Chunk(list[i].values, each) {
				total := 0.0
				for _, v := range part {
					total += v
				}
				thin = append(thin, total/float64(len(part)))
			}
			list[i].values = thin
		}
	}
}

// greatest returns the maximum value of the figure.
func (f *figure) greatest() (most float64) {
	for _, l := range f.lines {
		most = max(most, slices.Max(l.values))
	}
	if len(f.stack) > 0 {
		for i := range f.stack[0].values {
			total := 0.0
			for _, l := range f.stack {
				total += l.values[i]
			}
			most = max(most, total)
		}
	}
	if f.level != nil {
		most = max(most, f.level.value)
	}
	return max(most, 1e-3)
}

// The size of a figure, in pixels.
const (
	width  = 560
	height = 200
	left   = 52 // for the values of the axis
	right  = 78 // for the names of the lines
	top    = 28 // for the title
	bottom = 24 // for the times
)

func (f *figure) points() int {
	for _, l := range slices.Concat(f.lines, f.stack) {
		return len(l.values)
	}
	return 0
}

// x returns the horizontal position of a value.
func (f *figure) x(i float64) float64 {
	return left + (width-left-right)*i/float64(max(f.points()-1, 1))
}

// y returns the vertical position of a value.
func (f *figure) y(v float64) float64 {
	return height - bottom - (height-top-bottom)*v/f.axis()
}

// axis returns the value at the upper end of the axis.
func (f *figure) axis() float64 {
	step := f.tick()
	return math.Ceil(f.most/step-1e-9) * step
}

// tick returns the distance between two values on the axis: 1, 2 or 5 times a power of ten.
func (f *figure) tick() float64 {
	rough := f.most / 3
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= rough {
			return m * power
		}
	}
	return 10 * power
}

// draw writes the elements of the figure.
func (f *figure) draw(b *strings.Builder) {
	for _, e := range f.bands {
		x := f.x(e.from / f.step)
		wide := max(f.x(min(e.to/f.step, float64(f.points()-1)))-x, 1)
		fmt.Fprintf(b, `<rect class="event" x="%.1f" y="%d" width="%.1f" height="%d"/>`+"\n", x, top, wide,
			height-top-bottom)
	}
	fmt.Fprintf(b, `<text class="title" x="0" y="14">%s</text>`+"\n", html.EscapeString(f.title))
	for v := 0.0; v <= f.axis()*1.001; v += f.tick() {
		fmt.Fprintf(b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`, left, width-right, f.y(v), f.y(v))
		fmt.Fprintf(b, `<text class="axis" x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", left-6, f.y(v)+4,
			format(v, f.unit))
	}
	f.times(b)
	f.areas(b)
	for _, l := range f.lines {
		fmt.Fprintf(b, `<path class="line %s" d="%s"/>`+"\n", l.class, f.path(l.values))
	}
	if f.level != nil {
		fmt.Fprintf(b, `<line class="level" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`+"\n", left, width-right,
			f.y(f.level.value), f.y(f.level.value))
	}
	f.names(b)
}

// times writes the time axis.
func (f *figure) times(b *strings.Builder) {
	total := float64(f.points()) * f.step
	for _, step := range []float64{5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400} {
		if total/step > 7 {
			continue
		}
		for t := 0.0; t <= total; t += step {
			text := strconv.Itoa(int(t)) + " s"
			if step >= 60 {
				text = strconv.Itoa(int(t/60)) + " min"
			}
			if t == 0 {
				text = "0"
			}
			fmt.Fprintf(b, `<text class="axis" x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
				f.x(min(t/f.step, float64(f.points()-1))), height-6, text)
		}
		return
	}
}

// areas writes the stacked areas.
func (f *figure) areas(b *strings.Builder) {
	if len(f.stack) == 0 {
		return
	}
	below := make([]float64, f.points())
	for _, l := range f.stack {
		above := sum(below, l.values)
		var back strings.Builder
		for i := len(below) - 1; i >= 0; i-- {
			fmt.Fprintf(&back, "L%.1f %.1f", f.x(float64(i)), f.y(below[i]))
		}
		fmt.Fprintf(b, `<path class="area %s" d="%s%sZ"/>`+"\n", l.class, f.path(above), back.String())
		below = above
	}
}

// isGap reports whether a value is missing, because no call has succeeded whose duration could
// be shown.
func (f *figure) isGap(v float64) bool { return f.unit == "s" && v == 0 }

// path returns the path of a line.
func (f *figure) path(values []float64) string {
	var b strings.Builder
	command := 'M'
	for i, v := range values {
		if f.isGap(v) {
			command = 'M'
			continue
		}
		fmt.Fprintf(&b, "%c%.1f %.1f", command, f.x(float64(i)), f.y(v))
		command = 'L'
	}
	return b.String()
}

// A name is the label at the end of a line or area.
type name struct {
	text, class string
	y           float64
}

// names writes the labels at the ends of the lines and areas, without overlaps.
func (f *figure) names(b *strings.Builder) {
	const apart = 13
	var list []name
	for _, l := range f.lines {
		last := l.values[len(l.values)-1]
		for i := len(l.values) - 1; i > 0 && f.isGap(last); i-- {
			last = l.values[i-1]
		}
		list = append(list, name{l.name, l.class, f.y(last)})
	}
	below := 0.0
	for _, l := range f.stack {
		last := l.values[len(l.values)-1]
		if slices.Max(l.values) > f.axis()/100 {
			list = append(list, name{l.name, l.class, f.y(below + last/2)})
		}
		below += last
	}
	if f.level != nil {
		list = append(list, name{f.level.name, "offered", f.y(f.level.value)})
	}
	slices.SortStableFunc(list, func(a, b name) int { return int(math.Copysign(1, a.y-b.y)) })
	for i := 1; i < len(list); i++ {
		list[i].y = max(list[i].y, list[i-1].y+apart)
	}
	limit := float64(height - bottom)
	for i := len(list) - 1; i >= 0; i-- {
		list[i].y = min(list[i].y, limit)
		limit = list[i].y - apart
	}
	for _, n := range list {
		fmt.Fprintf(b, `<text class="name %s" x="%d" y="%.1f">%s</text>`+"\n", n.class, width-right+6, n.y+4,
			html.EscapeString(n.text))
	}
}

// format formats a value of an axis.
func format(v float64, unit string) string {
	switch {
	case unit == "%":
		return strconv.FormatFloat(100*v, 'f', 0, 64) + " %"
	case unit == "s":
		return strconv.FormatFloat(v, 'g', 3, 64) + " s"
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 3, 64) + " M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 3, 64) + " k"
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
