package chart

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/storm"
)

//go:embed style.css
var style string

//go:embed page.css
var pageStyle string

//go:embed page.js
var script string

//go:embed page.html
var page string

// HTML writes the page as HTML. The result is self-contained and can be opened from a
// file. HTML returns the first error from w.
func (p *Page) HTML(w io.Writer) error {
	type shown struct {
		SVG  template.HTML
		Data string
	}
	type row struct{ Name, Verdict, Class, Most, Failed string }
	type section struct {
		Section
		Class   string
		Rows    []row
		Figures []shown
		Runs    string
	}
	all := p.figures()
	data := struct {
		Title    string
		Style    template.CSS
		Script   template.JS
		Sections []section
	}{Title: p.Title, Style: template.CSS(style + pageStyle), Script: template.JS(script)}
	for i, s := range p.Sections {
		out := section{Section: s, Class: class(s.Good)}
		out.Runs = fmt.Sprintf("%d runs of %s", len(s.Result.Runs), duration.Format(s.Result.System.Length))
		for load := range s.Result.Verdicts {
			v := &s.Result.Verdicts[load]
			name := s.Title
			if len(s.Result.Verdicts) > 1 {
				name += ", " + v.Load
			}
			out.Rows = append(out.Rows, row{
				name, v.Text(), class(v.Recovered() == len(v.Outcomes)), fmt.Sprintf("%.2f ×", v.Amplification()),
				storm.Percent(v.FailedShare()),
			})
		}
		for _, f := range all[i] {
			values, err := f.json()
			if err != nil {
				return err
			}
			out.Figures = append(out.Figures, shown{template.HTML(f.svg()), values})
		}
		data.Sections = append(data.Sections, out)
	}
	// The template is parsed here, so that programs that only draw images do not have to.
	if err := template.Must(template.New("page").Parse(page)).Execute(w, data); err != nil {
		return fmt.Errorf("the page: %w", err)
	}
	return nil
}

// class returns the class of a verdict.
func class(good bool) string {
	if good {
		return "good-verdict"
	}
	return "bad-verdict"
}

// figures returns the figures of each section. Figures with the same title, in sections of the
// same group, have axes of the same length.
func (p *Page) figures() (all [][]*figure) {
	most := map[[2]string]float64{}
	for _, s := range p.Sections {
		list := figures(s.Result)
		for _, f := range list {
			key := [2]string{s.Group, f.title}
			most[key] = max(most[key], f.most)
		}
		all = append(all, list)
	}
	for i, s := range p.Sections {
		for _, f := range all[i] {
			f.most = most[[2]string{s.Group, f.title}]
		}
	}
	return all
}

// svg returns the figure as an image for embedding in a page.
func (f *figure) svg() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n", width, height, html.EscapeString(f.title))
	f.draw(&b)
	fmt.Fprintf(&b, `<line class="cross" x1="0" x2="0" y1="%d" y2="%d"/></svg>`, top, height-bottom)
	return b.String()
}

// json returns the values of the figure for the script of the page.
func (f *figure) json() (string, error) {
	type series struct {
		Name   string     `json:"name"`
		Values []*float64 `json:"values"` // null: missing
	}
	data := struct {
		Width int      `json:"width"`
		Left  int      `json:"left"`
		Right int      `json:"right"`
		Step  float64  `json:"step"`
		Unit  string   `json:"unit"`
		Lines []series `json:"lines"`
	}{Width: width, Left: left, Right: right, Step: f.step, Unit: f.unit}
	for _, l := range slices.Concat(f.lines, f.stack) {
		values := make([]*float64, len(l.values))
		for i, v := range l.values {
			if !f.isGap(v) {
				rounded := math.Round(v*1e4) / 1e4
				values[i] = &rounded
			}
		}
		data.Lines = append(data.Lines, series{l.name, values})
	}
	text, err := json.Marshal(data)
	return string(text), err
}

// SVG writes all figures as a single image, with one section below the other. It returns
// the first error from w.
func (p *Page) SVG(w io.Writer) error {
	const margin, gap, head, lineHeight, perLine = 24, 28, 22, 17, 2
	var b strings.Builder
	y := margin
	total := 2*margin + perLine*width + gap
	for i, list := range p.figures() {
		s := &p.Sections[i]
		fmt.Fprintf(&b, `<text class="head" x="%d" y="%d">%s: %s</text>`+"\n", margin, y+head-6, html.EscapeString(s.Title),
			html.EscapeString(s.Verdict))
		y += head
		for _, text := range slices.Concat(s.Why, s.System) {
			for _, part := range broken(text, 170) {
				fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`+"\n", margin, y+lineHeight-4, html.EscapeString(part))
				y += lineHeight
			}
		}
		y += 12
		for j, f := range list {
			fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", margin+j%perLine*(width+gap), y)
			f.draw(&b)
			b.WriteString("</g>\n")
			if j%perLine == perLine-1 || j == len(list)-1 {
				y += height + gap
			}
		}
	}
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" class="storm" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img" aria-label="%[3]s">
<style>
%[4]s</style>
<rect width="100%%" height="100%%" style="fill: var(--back)"/>
%[5]s</svg>
`, total, y+margin, html.EscapeString(p.Title), style, b.String())
	return err
}

// broken breaks text into lines of at most n characters.
func broken(text string, n int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > n {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
