package syntax

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Limits on a policy file. They are far above the size of real files and limit the
// time for a hostile one. Files of other systems may have any size.
const (
	// MaxBytes is the size of the largest policy file that is parsed.
	MaxBytes = 4 << 20
	maxDepth = 64
	maxNodes = 500_000 // with aliases expanded; of another system: that aliases expand to
)

// A Problem is a part of a file that cannot be parsed.
type Problem struct {
	Span  Span
	Rule  string // P100, or P102 if the rest of the file can be read
	Text  string // what is wrong, then what to do
	Final bool   // it makes further problems at this place redundant
}

// parser turns YAML into nodes. Only this package uses the YAML library.
type parser struct {
	report  func(Problem)
	lines   [][]byte
	nodes   int
	foreign bool         // the file is one of another system
	open    []*yaml.Node // aliases being expanded
	last    struct{ line, chars, bytes int }
	failed  bool // parsing has stopped
	repeats bool // a map of a foreign file has a key twice
}

func (p *parser) problem(at Span, rule, format string, args ...any) {
	p.report(Problem{Span: at, Rule: rule, Text: fmt.Sprintf(format, args...)})
}

// Parse returns the only document of a policy file, or nil if it cannot be read. It
// calls report for each problem.
func Parse(text []byte, report func(Problem)) *Node {
	p := &parser{report: report, lines: bytes.Split(text, []byte("\n"))}
	list := p.documents(text)
	if list == nil {
		return nil
	}
	if len(list) == 0 {
		p.problem(Span{1, 1, 1}, "P100", "the file is empty: begin with version: 1")
		return nil
	}
	return list[0]
}

// documents returns the documents of a policy file that are not empty, or nil if it
// cannot be read.
func (p *parser) documents(text []byte) []*Node {
	if len(text) > MaxBytes {
		p.problem(Span{1, 1, 1}, "P100", "the file is larger than %d MiB: a policy file is small", MaxBytes>>20)
		return nil
	}
	if !p.isText(text) {
		return nil
	}
	roots, err := p.decode(bytes.NewReader(text))
	if err != nil {
		p.syntax(text, err)
		return nil
	}
	list := []*Node{}
	for _, root := range roots {
		list = append(list, p.node(root, 0))
	}
	if p.failed {
		return nil
	}
	return list
}

// isText reports whether a text is UTF-8 whose lines end as in editors. It reports the
// problem if it is not.
func (p *parser) isText(text []byte) bool {
	if !utf8.Valid(text) {
		p.problem(p.firstInvalid(), "P100", "the file is not UTF-8 here: save it as UTF-8")
		return false
	}
	if at, name := p.otherBreak(); name != "" {
		p.problem(at, "P100",
			"a line ends here with %s, for YAML but not for editors: remove it, or write a newline", name)
		return false
	}
	return true
}

var errSecondDocument = errors.New("second document")

// decode reads the documents that are not empty. It turns panics of the library
// into errors. A second document in a policy file is an error.
func (p *parser) decode(r io.Reader) (roots []*yaml.Node, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			roots, err = nil, fmt.Errorf("yaml: %v", panicked)
		}
	}()
	d := yaml.NewDecoder(r)
	for n := 0; ; n++ {
		var doc yaml.Node
		switch err := d.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return roots, nil
		case err != nil:
			return nil, err
		case n > 0 && !p.foreign:
			return nil, errSecondDocument
		}
		if len(doc.Content) > 0 && (doc.Content[0].ShortTag() != "!!null" || doc.Content[0].Value != "") {
			roots = append(roots, doc.Content[0])
		}
	}
}

func (p *parser) firstInvalid() Span {
	for i, line := range p.lines {
		for at := 0; at < len(line); {
			r, n := utf8.DecodeRune(line[at:])
			if r == utf8.RuneError && n <= 1 {
				return Span{i + 1, at + 1, 1}
			}
			at += n
		}
	}
	return Span{1, 1, 1}
}

// otherBreak finds a character that ends a line in YAML 1.1, but not here. All
// positions after it would be wrong.
func (p *parser) otherBreak() (at Span, name string) {
	for i, line := range p.lines {
		line = bytes.TrimSuffix(line, []byte("\r")) // of \r\n
		if i == len(p.lines)-1 {
			line = p.lines[i]
		}
		if at := bytes.IndexAny(line, "\r\u0085\u2028\u2029"); at >= 0 {
			r, size := utf8.DecodeRune(line[at:])
			if r == '\r' {
				return Span{i + 1, at + 1, 1}, "a carriage return alone"
			}
			return Span{i + 1, at + 1, size}, fmt.Sprintf("the character %U", r)
		}
	}
	return Span{}, ""
}

// at returns the span of a YAML node. The library counts columns in
// characters.
func (p *parser) at(n *yaml.Node) Span {
	line := min(max(n.Line, 1), len(p.lines))
	text := p.lines[line-1]
	col := p.column(line, max(n.Column, 1)-1)
	width := 1
	if n.Kind == yaml.ScalarNode {
		width = len(n.Value)
		if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			width += 2
		}
	}
	rest := len(bytes.TrimRight(text[col:], "\r"))
	return Span{line, col + 1, max(min(width, rest), 1)}
}

// column returns the offset of the character with chars characters before it on
// the line. It continues from the last result, which is usually close.
func (p *parser) column(line, chars int) int {
	if p.last.line != line || p.last.chars > chars {
		p.last.line, p.last.chars, p.last.bytes = line, 0, 0
	}
	text := p.lines[line-1]
	for p.last.chars < chars {
		_, size := utf8.DecodeRune(text[p.last.bytes:])
		p.last.bytes += size
		p.last.chars++
	}
	return p.last.bytes
}

// stop reports a problem that ends parsing.
func (p *parser) stop(at Span, format string, args ...any) *Node {
	if !p.failed {
		p.problem(at, "P102", format, args...)
	}
	p.failed = true
	return &Node{Span: at}
}

func (p *parser) node(y *yaml.Node, depth int) *Node {
	n := p.content(y, depth)
	if y.Kind != yaml.AliasNode {
		n.Form = Form{
			Flow:   y.Style&yaml.FlowStyle != 0,
			Anchor: y.Anchor != "",
			Block:  y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0,
			Quoted: y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0,
		}
	}
	return n
}

func (p *parser) content(y *yaml.Node, depth int) *Node {
	at := p.at(y)
	if !p.foreign || len(p.open) > 0 { // only aliases make a small file large
		p.nodes++
	}
	switch {
	case p.failed:
		return &Node{Span: at}
	case depth > maxDepth:
		return p.stop(at, "this is nested deeper than %d levels", maxDepth)
	case p.nodes > maxNodes:
		return p.stop(at, "the file has more than %d values, with its aliases expanded", maxNodes)
	}
	tag := y.ShortTag()
	if !p.foreign && (y.Kind == yaml.MappingNode && tag != "!!map" || y.Kind == yaml.SequenceNode && tag != "!!seq") {
		p.problem(at, "P102", "the tag %s is not supported: remove it", tag)
	}
	switch y.Kind {
	case yaml.AliasNode:
		return p.alias(y, at, depth)
	case yaml.SequenceNode:
		n := &Node{Span: at}
		values := make([]any, 0, len(y.Content))
		for _, item := range y.Content {
			child := p.node(item, depth+1)
			n.Items = append(n.Items, child)
			values = append(values, child.Value)
		}
		n.Value = values
		return n
	case yaml.MappingNode:
		return p.mapping(y, at, depth)
	}
	return p.scalar(y, at)
}

// alias expands *name, and reports an alias that contains itself. The position of
// the node is that of the alias.
func (p *parser) alias(y *yaml.Node, at Span, depth int) *Node {
	for _, open := range p.open {
		if open == y.Alias {
			return p.stop(at, "*%s contains itself", y.Value)
		}
	}
	p.open = append(p.open, y.Alias)
	n := *p.node(y.Alias, depth+1)
	p.open = p.open[:len(p.open)-1]
	n.Form.Alias = true
	return &n
}

func (p *parser) mapping(y *yaml.Node, at Span, depth int) *Node {
	n := &Node{Span: at}
	values := make(map[string]any, len(y.Content)/2)
	n.Value = values
	lines := map[string]int{}
	var merged []*Node
	defer delete(values, "") // a JSON pointer cannot represent it; the decoder reports the key
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		keyAt := p.at(key)
		merge := key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge"
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if !merge && (key.Kind != yaml.ScalarNode || !p.foreign && key.ShortTag() != "!!str") {
			p.problem(keyAt, "P102", "a key must be text: put it into quotes")
			continue
		}
		line, twice := lines[key.Value]
		if twice && p.foreign {
			p.repeats = true
			n.Repeated = append(n.Repeated, Entry{Key: key.Value, At: keyAt})
			continue
		}
		if twice {
			p.problem(keyAt, "P102", "%s is a duplicate key, first on line %d: remove one", key.Value, line)
			continue
		}
		lines[key.Value] = keyAt.Line
		if merge {
			merged = p.merged(y.Content[i+1], keyAt, depth)
			continue
		}
		child := p.node(y.Content[i+1], depth+1)
		n.Entries = append(n.Entries, Entry{Key: key.Value, At: keyAt, Value: child})
		values[key.Value] = child.Value
	}
	// The map's own entries take precedence over merged ones, and those of an
	// earlier map over those of a later one.
	for _, m := range merged {
		for _, e := range m.Entries {
			if _, has := values[e.Key]; !has {
				if e.From == nil {
					e.From = m
				}
				n.Entries = append(n.Entries, e)
				values[e.Key] = e.Value.Value
			}
		}
	}
	n.indexEntries()
	return n
}

// merged returns the maps that << merges.
func (p *parser) merged(y *yaml.Node, at Span, depth int) []*Node {
	n := p.node(y, depth+1)
	maps := []*Node{n}
	if n.IsList() {
		maps = n.Items
	}
	for _, m := range maps {
		if !m.IsMap() && !p.failed {
			p.problem(at, "P102", "<< takes a map, or a list of maps")
			return nil
		}
	}
	return maps
}

// decimal matches the numbers that mean the same to every reader: not 010,
// 0x10, 1_000 or 08.
var decimal = regexp.MustCompile(`^[-+]?(?:0|[1-9][0-9]*)?(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?$`)

// nulls are the spellings of null in YAML.
var nulls = []string{"", "~", "null", "Null", "NULL"}

func (p *parser) scalar(y *yaml.Node, at Span) *Node {
	n := &Node{Span: at, Text: y.Value}
	if p.foreign {
		n.Value = foreignValue(y)
		return n
	}
	switch tag := y.ShortTag(); tag {
	case "!!str":
		n.Value = y.Value
	case "!!null":
		if !slices.Contains(nulls, y.Value) {
			return p.unread(n, "%s is not null, as the tag !!null says: remove the tag", Quote(y.Value))
		}
	case "!!bool":
		if !strings.EqualFold(y.Value, "true") && !strings.EqualFold(y.Value, "false") {
			return p.unread(n, "%s is not true or false, as the tag !!bool says: remove the tag", Quote(y.Value))
		}
		n.Value = strings.EqualFold(y.Value, "true")
	case "!!int":
		var i int64
		if err := y.Decode(&i); err != nil {
			if _, whole := new(big.Int).SetString(y.Value, 0); whole {
				return p.unread(n, "%s is too large a number", y.Value)
			}
			return p.unread(n, "%s is not an integer, as the tag !!int says: remove the tag", Quote(y.Value))
		} else if !decimal.MatchString(y.Value) {
			p.problem(at, "P102", "%s means %d in YAML: write %d, or the decimal number that is meant", y.Value, i, i)
			n.Text = strconv.FormatInt(i, 10) // no second problem
		}
		n.Value = i
	case "!!float":
		var f float64
		switch err := y.Decode(&f); {
		case err != nil || math.IsInf(f, 0) || math.IsNaN(f):
			return p.unread(n, "%s is not a number that can be used here", y.Value)
		case !decimal.MatchString(y.Value):
			p.problem(at, "P102", "%s means %v in YAML: write %v, or the decimal number that is meant", y.Value, f, f)
			if i := int64(f); float64(i) == f { // 08
				n.Text, n.Value = strconv.FormatInt(i, 10), i
				return n
			}
		}
		n.Value = f
	case "!!timestamp":
		return p.unread(n, "%s is a date in YAML: put it into quotes if it is meant as text", y.Value)
	default:
		return p.unread(n, "the tag %s is not supported: remove it", tag)
	}
	return n
}

// foreignValue returns the value of a scalar in a file of another system: its text
// if it is no value of JSON.
func foreignValue(y *yaml.Node) any {
	switch y.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(y.Value, "true")
	case "!!int":
		var i int64
		if y.Decode(&i) == nil {
			return i
		}
	case "!!float":
		var f float64
		if y.Decode(&f) == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return f
		}
	}
	return y.Value
}

// unread reports a scalar that cannot be decoded. Its value becomes its text. The
// problem is Final, so that a later problem with that value is not shown.
func (p *parser) unread(n *Node, format string, args ...any) *Node {
	p.report(Problem{Span: n.Span, Rule: "P102", Text: fmt.Sprintf(format, args...), Final: true})
	n.Value = n.Text
	return n
}
