package console

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/retrygen/retrygen/runtime/durable/admin"
)

// A shownValue is an input or a result on a page.
type shownValue struct {
	Name string
	Size int    // in bytes
	Note string // why it is not shown, or ""
	Text string
	Cut  bool // Text is a part of it
}

// Lines returns the lines of the text.
func (v *shownValue) Lines() []string { return strings.Split(v.Text, "\n") }

// maxValue is how much of a value a page shows, in bytes.
const maxValue = 8 << 10

// pageValues are the input and the result of a run, or the result of a step.
type pageValues struct{ Shown, Hidden []shownValue }

// values returns the values of a run, or of a step of it.
func (s *Server) values(ctx context.Context, run, step string) (p pageValues, err error) {
	values, err := s.Client.Values(ctx, run, step)
	if err != nil {
		return p, err
	}
	for _, v := range []struct {
		name string
		*admin.Value
	}{{"Input", values.Input}, {"Result", values.Result}} {
		if v.Value == nil {
			continue
		}
		if shown := s.shown(v.name, v.Value); shown.Note == "" {
			p.Shown = append(p.Shown, shown)
		} else {
			p.Hidden = append(p.Hidden, shown)
		}
	}
	return p, nil
}

// shown returns a value on a page.
func (s *Server) shown(name string, v *admin.Value) shownValue {
	shown := shownValue{Name: name, Size: v.Size, Note: v.Note}
	switch {
	case v.Note != "":
		return shown
	case !s.Values:
		shown.Note = "start the console with -values to see it"
		return shown
	}
	var b bytes.Buffer
	if json.Indent(&b, v.JSON, "", "  ") != nil {
		b.Reset()
		b.Write(v.JSON)
	}
	text := b.Bytes()
	if shown.Cut = len(text) > maxValue; shown.Cut {
		text = text[:maxValue]
	}
	shown.Text = strings.ToValidUTF8(string(text), "")
	return shown
}
