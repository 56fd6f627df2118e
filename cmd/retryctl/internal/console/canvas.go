package console

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"image"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Charts are laid out by gonum.org/v1/plot: its axes, ticks, scales and plotters are
// tested and maintained, it has no other chart's opinions (a timeline is a plotter of
// our own), and it runs on the server. Its own SVG backend writes style attributes
// and fixed colors. The content security policy forbids the former, and a page with
// a light and a dark scheme has no use for the latter. A canvas therefore writes
// classes of the style sheet, and links and titles that a picture could not have.
//
// Libraries for whole charts that were looked at (go-analyze/charts, tdewolff/canvas,
// ajstarks/svgo) have no timelines, write inline styles, or are not maintained.

// An ink is a color by its name in the style sheet. It is a color.Color, so that
// plotters pass it on.
type ink string

// RGBA implements color.Color. Nothing is drawn with it.
func (ink) RGBA() (r, g, b, a uint32) { return 0, 0, 0, math.MaxUint16 }

// The inks that are not the names of outcomes.
const (
	inkText ink = "text"
	inkAxis ink = "axis"
	inkGrid ink = "grid"
	inkRow  ink = "row" // every second row of a timeline
	inkWait ink = "wait"
	inkLost ink = "lost"
	inkOpen ink = "executing"
)

// A canvas is a vg.Canvas that writes SVG elements with classes. A point is a pixel
// at the natural size of the picture.
type canvas struct {
	id            string // distinguishes the patterns of several pictures of a page
	width, height vg.Length
	elements      bytes.Buffer
	pen           pen
	pens          []pen
}

var _ vg.Canvas = (*canvas)(nil)

// A pen is the state that Push saves.
type pen struct {
	ink        ink
	width      vg.Length
	dash       []vg.Length
	dashOffset vg.Length
	transform  matrix
}

// A matrix maps a point to (a·x + c·y + e, b·x + d·y + f).
type matrix struct{ a, b, c, d, e, f float64 }

// apply returns the position of p, from the top left corner.
func (m matrix) apply(p vg.Point, height vg.Length) (x, y float64) {
	px, py := float64(p.X), float64(p.Y)
	return m.a*px + m.c*py + m.e, float64(height) - (m.b*px + m.d*py + m.f)
}

// then returns the transformation by inner and then by m.
func (m matrix) then(inner matrix) matrix {
	return matrix{
		a: m.a*inner.a + m.c*inner.b, b: m.b*inner.a + m.d*inner.b,
		c: m.a*inner.c + m.c*inner.d, d: m.b*inner.c + m.d*inner.d,
		e: m.a*inner.e + m.c*inner.f + m.e, f: m.b*inner.e + m.d*inner.f + m.f,
	}
}

// newCanvas returns an empty picture.
func newCanvas(id string, width, height vg.Length) *canvas {
	c := &canvas{id: id, width: width, height: height, pen: pen{ink: inkText, width: 1, transform: matrix{a: 1, d: 1}}}
	return c
}

// draw returns the canvas as plots use it.
func (c *canvas) draw() draw.Canvas { return draw.NewCanvas(c, c.width, c.height) }

func (c *canvas) SetLineWidth(w vg.Length) { c.pen.width = w }
func (c *canvas) SetLineDash(dash []vg.Length, offset vg.Length) {
	c.pen.dash, c.pen.dashOffset = dash, offset
}
func (c *canvas) Push() { c.pens = append(c.pens, c.pen) }

func (c *canvas) Pop() {
	last := len(c.pens) - 1
	c.pen, c.pens = c.pens[last], c.pens[:last]
}

// SetColor sets the ink. Other colors are those of plots that were not given one:
// they are drawn like the axes.
func (c *canvas) SetColor(color color.Color) {
	var known bool
	if c.pen.ink, known = color.(ink); !known {
		c.pen.ink = inkAxis
	}
}

func (c *canvas) Translate(p vg.Point) {
	c.pen.transform = c.pen.transform.then(matrix{a: 1, d: 1, e: float64(p.X), f: float64(p.Y)})
}

func (c *canvas) Scale(x, y float64) { c.pen.transform = c.pen.transform.then(matrix{a: x, d: y}) }

func (c *canvas) Rotate(angle float64) {
	sin, cos := math.Sincos(angle)
	c.pen.transform = c.pen.transform.then(matrix{a: cos, b: sin, c: -sin, d: cos})
}

// Stroke draws a line along a path.
func (c *canvas) Stroke(path vg.Path) {
	if c.pen.width <= 0 {
		return
	}
	dash := ""
	if len(c.pen.dash) > 0 {
		var lengths []string
		for _, length := range c.pen.dash {
			lengths = append(lengths, number(float64(length)))
		}
		dash = ` stroke-dasharray="` + strings.Join(lengths, " ") + `"`
	}
	fmt.Fprintf(&c.elements, `<path class="stroke-%s" stroke-width="%s"%s d="%s"/>`,
		c.pen.ink, number(float64(c.pen.width)), dash, c.outline(path))
}

// Fill fills a path.
func (c *canvas) Fill(path vg.Path) {
	fmt.Fprintf(&c.elements, `<path class="fill-%s" d="%s"/>`, c.pen.ink, c.outline(path))
}

// outline returns the data of a path element.
func (c *canvas) outline(path vg.Path) string {
	var b strings.Builder
	at := func(command string, points ...vg.Point) {
		b.WriteString(command)
		for i, p := range points {
			if i > 0 {
				b.WriteByte(' ')
			}
			x, y := c.pen.transform.apply(p, c.height)
			b.WriteString(number(x) + " " + number(y))
		}
	}
	for _, part := range path {
		switch part.Type {
		case vg.MoveComp:
			at("M", part.Pos)
		case vg.LineComp:
			at("L", part.Pos)
		case vg.ArcComp:
			sin, cos := math.Sincos(part.Start + part.Angle) // its end: no chart here has arcs
			at("L", vg.Point{X: part.Pos.X + part.Radius*vg.Length(cos), Y: part.Pos.Y + part.Radius*vg.Length(sin)})
		case vg.CurveComp:
			at([...]string{"L", "Q", "C"}[len(part.Control)], slices.Concat(part.Control, []vg.Point{part.Pos})...)
		case vg.CloseComp:
			b.WriteByte('Z')
		}
	}
	return b.String()
}

// FillString draws text whose baseline begins at p.
func (c *canvas) FillString(f font.Face, p vg.Point, text string) {
	x, y := c.pen.transform.apply(p, c.height)
	rotation := ""
	if m := c.pen.transform; m.b != 0 {
		angle := -math.Atan2(m.b, m.a) * 180 / math.Pi
		rotation = fmt.Sprintf(` transform="rotate(%s %s %s)"`, number(angle), number(x), number(y))
	}
	fmt.Fprintf(&c.elements, `<text class="ink-%s" font-size="%s" x="%s" y="%s"%s>%s</text>`,
		c.pen.ink, number(float64(f.Font.Size)), number(x), number(y), rotation, escapeXML(text))
}

// DrawImage implements vg.Canvas. Charts have no images.
func (c *canvas) DrawImage(vg.Rectangle, image.Image) {}

// box draws a filled rectangle with rounded corners.
func (c *canvas) box(class string, r vg.Rectangle, radius float64) {
	x, y := c.pen.transform.apply(vg.Point{X: r.Min.X, Y: r.Max.Y}, c.height)
	fill := ""
	if class == string(inkWait) || class == string(inkLost) {
		fill = fmt.Sprintf(` fill="url(#%s-%s)"`, c.id, class)
	}
	fmt.Fprintf(&c.elements, `<rect class="fill-%s"%s x="%s" y="%s" width="%s" height="%s" rx="%s"/>`, class, fill,
		number(x), number(y), number(float64(r.Max.X-r.Min.X)), number(float64(r.Max.Y-r.Min.Y)), number(radius))
}

// group puts what f draws into a link, unless href is "", with a title that browsers
// show next to the pointer.
func (c *canvas) group(href, title string, f func()) {
	open, end := "<g>", "</g>"
	if href != "" {
		open, end = `<a href="`+html.EscapeString(href)+`">`, "</a>"
	}
	c.elements.WriteString(open + "<title>" + escapeXML(title) + "</title>")
	f()
	c.elements.WriteString(end)
}

// text draws text in an ink, size pixels high.
func (c *canvas) text(class ink, size float64, p vg.Point, anchor, text string) {
	x, y := c.pen.transform.apply(p, c.height)
	fmt.Fprintf(&c.elements, `<text class="ink-%s" font-size="%s" x="%s" y="%s" text-anchor="%s">%s</text>`,
		class, number(size), number(x), number(y), anchor, escapeXML(text))
}

// patterns are the hatchings of the bars of waits and of lost attempts.
const patterns = `<defs><pattern id="ID-wait" width="6" height="6" patternUnits="userSpaceOnUse">` +
	`<path class="hatch-wait" d="M-1 7L7 -1M-1 1L1 -1M5 7L7 5"/></pattern>` +
	`<pattern id="ID-lost" width="6" height="6" patternUnits="userSpaceOnUse">` +
	`<rect class="hatch-ground" width="6" height="6"/><path class="hatch-lost" d="M0 0L6 6M6 0L0 6"/></pattern></defs>`

// svg returns the picture as an element of a page. label describes it for screen
// readers, and class is that of the element.
func (c *canvas) svg(class, label string) template.HTML {
	w, h := number(float64(c.width)), number(float64(c.height))
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="%s" viewBox="0 0 %s %s" width="%[2]s" height="%[3]s" role="group" aria-label="%s">`,
		class, w, h, html.EscapeString(label))
	if strings.Contains(c.elements.String(), "url(#") {
		b.WriteString(strings.ReplaceAll(patterns, "ID-", c.id+"-"))
	}
	b.Write(c.elements.Bytes())
	b.WriteString("</svg>")
	return template.HTML(b.String()) // every text of which was escaped
}

// number returns a coordinate to a tenth of a pixel.
func number(f float64) string {
	text := strconv.FormatFloat(f, 'f', 1, 64)
	return strings.TrimSuffix(text, ".0")
}

// escapeXML returns text for an element. Characters that XML does not allow are
// replaced: a store keeps any UTF-8 text but NUL.
func escapeXML(text string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' || r == 0x7f {
			return '\uFFFD'
		}
		return r
	}, text))
}
