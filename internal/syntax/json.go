package syntax

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// decodeJSON returns a JSON document as the node of the YAML library, or nil if the
// text is not JSON. Some JSON is not YAML: it has other escapes, and tabs. Comments and
// trailing commas are allowed.
func decodeJSON(text []byte) *yaml.Node {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if text = plainJSON(text); !isJSON(text) || !json.Valid(text) {
		return nil
	}
	d := &jsonDecoder{Decoder: json.NewDecoder(bytes.NewReader(text)), text: text, line: 1, column: 1}
	d.UseNumber()
	return d.node(d.next())
}

// isJSON reports whether a text begins as a JSON document does.
func isJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && (text[0] == '{' || text[0] == '[')
}

// plainJSON returns a JSON document with spaces in place of its comments and its trailing
// commas, so that all offsets stay the same.
func plainJSON(text []byte) []byte {
	body := bytes.TrimLeft(text, " \t\r\n")
	if !isJSON(text) && !bytes.HasPrefix(body, []byte("//")) && !bytes.HasPrefix(body, []byte("/*")) {
		return text
	}
	out := bytes.Clone(text)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' && out[i] != '\r' {
				out[i] = ' '
			}
		}
	}
	end := func(i, skip int, mark string) int { // where what begins at i ends
		n := bytes.Index(text[min(i+skip, len(text)):], []byte(mark))
		if n < 0 {
			return len(text)
		}
		return i + skip + n + len(mark)
	}
	comma := -1 // a comma with nothing after it so far
	for i := 0; i < len(text); {
		next := i + 1
		switch rest := text[i:]; {
		case rest[0] == '"':
			for next < len(text) && text[next] != '"' {
				if text[next] == '\\' {
					next++
				}
				next++
			}
			next, comma = min(next+1, len(text)), -1
		case bytes.HasPrefix(rest, []byte("//")):
			next = end(i, 2, "\n")
			blank(i, next)
		case bytes.HasPrefix(rest, []byte("/*")):
			next = end(i, 2, "*/")
			blank(i, next)
		case rest[0] == ',':
			comma = i
		case (rest[0] == '}' || rest[0] == ']') && comma >= 0:
			out[comma] = ' '
			comma = -1
		case !IsBlank(rest[0]):
			comma = -1
		}
		i = next
	}
	return out
}

// A jsonDecoder reads valid JSON, whose nesting package json has limited.
type jsonDecoder struct {
	*json.Decoder
	text         []byte
	offset       int // at which line and column are
	line, column int
}

// next returns the next token as a node with its position.
func (d *jsonDecoder) next() (json.Token, *yaml.Node) {
	start := int(d.InputOffset())
	start += len(d.text[start:]) - len(bytes.TrimLeft(d.text[start:], " \t\r\n,:"))
	for d.offset < start {
		r, size := utf8.DecodeRune(d.text[d.offset:])
		d.offset += size
		if d.column++; r == '\n' {
			d.line, d.column = d.line+1, 1
		}
	}
	token, err := d.Token()
	if err != nil {
		panic(err) // the text is valid
	}
	return token, &yaml.Node{Kind: yaml.ScalarNode, Line: d.line, Column: d.column}
}

// node returns the value that begins with a token.
func (d *jsonDecoder) node(token json.Token, n *yaml.Node) *yaml.Node {
	switch v := token.(type) {
	case json.Delim:
		n.Kind, n.Tag, n.Style = yaml.MappingNode, "!!map", yaml.FlowStyle
		if v == '[' {
			n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		}
		for d.More() {
			n.Content = append(n.Content, d.node(d.next()))
		}
		d.next() // the closing bracket
	case string:
		n.Tag, n.Value, n.Style = "!!str", v, yaml.DoubleQuotedStyle
	case json.Number:
		n.Tag, n.Value = "!!float", v.String()
		if _, err := v.Int64(); err == nil {
			n.Tag = "!!int"
		}
	case bool:
		n.Tag, n.Value = "!!bool", "false"
		if v {
			n.Value = "true"
		}
	case nil:
		n.Tag, n.Value = "!!null", "null"
	}
	return n
}

// invalidJSON reports where a text that begins as JSON is no JSON.
func (p *parser) invalidJSON(text []byte) bool {
	var value any
	var bad *json.SyntaxError
	if !isJSON(text) || !errors.As(json.Unmarshal(text, &value), &bad) {
		return false
	}
	before := text[:min(max(int(bad.Offset)-1, 0), len(text))]
	at := Span{1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n'), 1}
	p.problem(at, "P100", "this is not JSON: %v", bad)
	return true
}
