package syntax

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// decodeJSON returns a JSON document as the node of the YAML library, or nil if the
// text is not JSON. Some JSON is not YAML: it has other escapes, and tabs.
func decodeJSON(text []byte) *yaml.Node {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !isJSON(text) || !json.Valid(text) {
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
