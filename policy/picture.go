package policy

import (
	"fmt"
	"html"
	"io"
	"strings"
	"time"

	"github.com/retrygen/retrygen/policy/duration"
)

// The size of a picture, in pixels.
const (
	pictureLeft  = 96  // margin for the labels of the attempts
	pictureWidth = 560 // of the time axis
	pictureRight = 88  // margin for the time of the last attempt, and the labels of the limits
	pictureTop   = 56  // margin for the title
	pictureRow   = 26  // height of an attempt
	pictureRows  = 12  // the most attempts that are drawn; not in pixels
)

// A start holds the times at which an attempt can begin, after the start of the
// call, if attempts take no time.
type start struct{ least, base, greatest time.Duration }

// Picture draws the schedule as an SVG image. It contains one row for each attempt, with
// the earliest, the base and the latest time at which the attempt begins if attempts take
// no time. It also shows the limits that end the call. The image contains no scripts and
// does not refer to other files. Picture returns the first error from w.
func (p *Policy) Picture(w io.Writer) error {
	starts := p.starts()
	limits := p.timeLimits()
	end := time.Millisecond
	for _, s := range starts {
		end = max(end, s.greatest)
	}
	// A limit far beyond the schedule would hide it.
	limits = deleteFar(limits, 3*end)
	for _, l := range limits {
		end = max(end, l.most)
	}
	d := drawing{end: end, rows: len(starts)}
	for i, s := range starts {
		d.attempt(i, s)
	}
	for i, l := range limits {
		d.limit(i, l)
	}
	return d.write(w, p.Name)
}

// starts returns the starts of the attempts that are drawn.
func (p *Policy) starts() []start {
	list := []start{{}}
	for k := 1; k < p.MaxAttempts && k < pictureRows; k++ {
		least, base, greatest := p.Bounds(k, 0)
		last := list[len(list)-1]
		next := start{saturated(last.least, least), saturated(last.base, base), saturated(last.greatest, greatest)}
		if bound, _ := p.exceeded(next.least); bound != "" {
			break // it never begins
		}
		list = append(list, next)
	}
	return list
}

// timeLimits returns the limits on time that the policy has.
func (p *Policy) timeLimits() (list []limit) {
	for _, l := range p.limits() {
		if l.most > 0 {
			list = append(list, l)
		}
	}
	return list
}

// deleteFar returns the limits up to end.
func deleteFar(list []limit, end time.Duration) (near []limit) {
	for _, l := range list {
		if l.most <= end {
			near = append(near, l)
		}
	}
	return near
}

// A drawing builds the elements of a picture.
type drawing struct {
	strings.Builder
	end  time.Duration // of the time axis
	rows int
}

// x returns the horizontal position of a time, in pixels.
func (d *drawing) x(t time.Duration) float64 {
	return pictureLeft + pictureWidth*float64(min(t, d.end))/float64(d.end)
}

func (d *drawing) height() int { return pictureTop + d.rows*pictureRow + 30 }

// attempt draws when an attempt begins.
func (d *drawing) attempt(i int, s start) {
	y := pictureTop + i*pictureRow
	fmt.Fprintf(d, `<text class="label" x="%d" y="%d" text-anchor="end">attempt %d</text>`+"\n", pictureLeft-12, y+15, i+1)
	least, base, greatest := d.x(s.least), d.x(s.base), d.x(s.greatest)
	fmt.Fprintf(d,
		`<rect class="band" x="%.1f" y="%d" width="%.1f" height="16" rx="3"><title>%s to %s</title></rect>`+"\n",
		least, y+2, max(greatest-least, 2), duration.Format(s.least), duration.Format(s.greatest))
	fmt.Fprintf(d, `<circle class="base" cx="%.1f" cy="%d" r="4"/>`+"\n", base, y+10)
	fmt.Fprintf(d, `<text class="time" x="%.1f" y="%d">%s</text>`+"\n", greatest+8, y+15, duration.Format(s.base))
}

// limit draws a limit on the time of the call.
func (d *drawing) limit(i int, l limit) {
	x := d.x(l.most)
	fmt.Fprintf(d, `<line class="limit" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`+"\n", x, x, pictureTop-4, d.height()-26)
	fmt.Fprintf(d, `<text class="limit" x="%.1f" y="%d" text-anchor="middle">%s %s</text>`+"\n",
		x, d.height()-12+i%2*10, l.field, duration.Format(l.most))
}

// pictureStyle has the colors of light and dark pages.
const pictureStyle = `
text { font: 12px system-ui, sans-serif; fill: #57606a }
.title { font-size: 15px; font-weight: 600; fill: #24292f }
.time { font-variant-numeric: tabular-nums }
.band { fill: #9ecbff }
.base { fill: #0969da }
line.limit { stroke: #cf222e; stroke-width: 1.5; stroke-dasharray: 4 3 }
text.limit { fill: #cf222e }
@media (prefers-color-scheme: dark) {
text { fill: #9198a1 }
.title { fill: #e6edf3 }
.band { fill: #1f4a7c }
.base { fill: #58a6ff }
line.limit { stroke: #ff7b72 }
text.limit { fill: #ff7b72 }
}
`

// write writes the picture with its title.
func (d *drawing) write(w io.Writer, name string) error {
	name = html.EscapeString(name)
	width := pictureLeft + pictureWidth + pictureRight
	_, err := fmt.Fprintf(w,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img" aria-label="schedule of policy %[3]s">
<style>%[4]s</style>
<text class="title" x="%[5]d" y="24">policy %[3]s: when each attempt begins</text>
<text x="%[5]d" y="42">the band is what jitter allows, the dot the delay without jitter; attempts take no time here</text>
%[6]s</svg>
`, width, d.height()+8, name, pictureStyle, pictureLeft-84, d.String())
	return err
}
