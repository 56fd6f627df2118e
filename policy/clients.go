package policy

import (
	"regexp"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/syntax"
	retry "github.com/retrygen/retrygen/runtime"
)

// A Client describes how the errors of a client library are read. The facts that it
// yields take precedence over the methods and the text of an error: see [retry.Facts].
type Client struct {
	Name        string
	Pos         Pos
	Description string
	Preset      bool     // the client equals the preset with the same name, except for its own keys
	Methods     bool     // for a preset: whether the runtime also reads the client's errors through their methods
	Attempts    int      // number of attempts that the client itself makes; 0 if unknown
	Off         string   // how to reduce Attempts to one, for people to read
	Packages    []Symbol // paths of packages whose functions make Attempts attempts; nil means the packages of Types

	// Tests of an error as a whole, in the order in which they are made. They are made
	// before Types, and Text comes last.
	Is   []Match // variables, for errors.Is
	Test []Match // functions of type func(error) bool
	Text []Match // parts of an error's text

	Types []Reader // the first reader that knows anything about an error decides
}

// A Reader describes how errors of one type are read. Its paths consist of fields and
// methods without arguments, as in Response.StatusCode. An empty path is absent.
type Reader struct {
	Pos        Pos
	Type       Symbol // the type, such as *example.com/api.Error
	Status     Symbol // path of an HTTP status
	Response   Symbol // path of an *http.Response
	GRPC       Symbol // path of a gRPC code
	RetryAfter Symbol // path of a wait
	Code       Symbol // path of a string or a number that Codes classifies; "self" is the error itself
	Codes      []Match
	Class      Symbol // the outcome for every error of the type, or empty
}

// A Match is an outcome and the values that lead to it.
type Match struct {
	Outcome Symbol // name of the outcome: see [Outcomes]
	Values  []Symbol
}

// Outcomes lists what can be known about an error: that it belongs to a built-in class,
// that the same call would fail again, or that the call conflicts with another one, as
// with status 409.
var Outcomes = []string{"network", "timeout", "server_error", "rate_limit", "permanent", "conflict"}

// FactsOf returns the facts for an outcome. One field is set.
func FactsOf(outcome string) retry.Facts {
	switch outcome {
	case "permanent":
		return retry.Facts{Permanent: true}
	case "conflict": // the request or the transaction has to be made again, not the call
		return retry.Facts{Status: 409}
	}
	return retry.Facts{Class: retry.Class(outcome)}
}

// The keys of clients.
var (
	readerKeys = []string{"type", "status", "response", "grpc", "code", "codes", "retry_after", "class"}
	clientKeys = slices.Concat(readerKeys, []string{"types", "is", "test", "text", "attempts", "off", "packages",
		"description"})
)

// clients reads the section clients: a list of presets, or a map with presets and
// other clients, or none.
func (d decoder) clients(root *syntax.Node, f *File) {
	e := root.Written("clients")
	switch {
	case e == nil:
	case e.Value.Value == "none":
		f.NoClients = true
	case e.Value.IsList():
		for _, item := range e.Value.Items {
			entry := syntax.Entry{Key: item.Text, At: item.Span, Value: &syntax.Node{Span: item.Span}}
			if _, ok := item.Value.(string); !ok {
				d.problem(item.Span, "P102", "an item of clients is the name of a preset, not %s", item.Describe())
				continue
			}
			d.addClient(entry, f)
		}
	case e.Value.IsMap():
		for _, entry := range d.section(root, "clients") {
			d.addClient(entry, f)
		}
	default:
		d.problem(e.Value.Span, "P102", "clients is a list of presets, as [azure, pgx], a map of clients, or none, not %s",
			e.Value.Describe())
	}
}

// addClient reads one client into f.
func (d decoder) addClient(e syntax.Entry, f *File) {
	if slices.ContainsFunc(f.Clients, func(c Client) bool { return c.Name == e.Key }) {
		d.problem(e.At, "P104", "%s is in clients twice: remove one", e.Key)
		return
	}
	preset := Preset(e.Key)
	if preset == nil && e.Value.IsNull() {
		d.problem(e.At, "P901", "there is no preset %s%s", syntax.Quote(e.Key), presetHint(e.Key))
		return
	}
	if preset != nil {
		preset.place(posOf(e.At))
	}
	if c, ok := d.client(e, preset); ok {
		f.Clients = append(f.Clients, c)
	}
}

// client reads the entry of a client over its preset, which may be nil.
func (d decoder) client(e syntax.Entry, preset *Client) (c Client, ok bool) {
	c = Client{Name: e.Key, Pos: posOf(e.At)}
	before := d.errors()
	if !e.Value.IsNull() {
		if !d.isMap(e.Value, "a client") {
			return c, false
		}
		d.unknownKeys(e.Value, "", clientKeys...)
		c.Description = optional(d, e.Value, d.text, "description").value
		c.Off = optional(d, e.Value, d.text, "off").value
		c.Attempts = optional(d, e.Value, d.atLeastOne, "attempts").value
		c.Packages = d.packages(e.Value.Written("packages"))
		c.Is = d.matches(e.Value.Written("is"), d.symbolItem)
		c.Test = d.matches(e.Value.Written("test"), d.symbolItem)
		c.Text = d.matches(e.Value.Written("text"), d.textItem)
		c.Types = d.readers(e.Value, preset)
	}
	if preset != nil {
		c = c.over(*preset)
	}
	if ok = d.errors() == before; ok && len(c.Is)+len(c.Test)+len(c.Text)+len(c.Types) == 0 {
		d.problem(e.At, "P102", "%s reads no error: write type, is, test or text", e.Key)
		ok = false
	}
	return c, ok
}

// readers reads the types of a client: the entries of types, or the one type that the
// keys of the client itself describe. With a preset of one type, these keys are read over
// it.
func (d decoder) readers(n *syntax.Node, preset *Client) (list []Reader) {
	own := d.firstOf(n, readerKeys...)
	types := n.Written("types")
	switch {
	case types != nil && own != nil:
		d.problem(own.At, "P104", "%s and types exclude each other: move %[1]s into an item of types", own.Key)
	case types != nil:
		for _, item := range d.list(types, "maps, as {type: \"*example.com/api.Error\", status: StatusCode}") {
			if d.isMap(item, "an item of types") {
				d.unknownKeys(item, "", readerKeys...)
				list = append(list, d.reader(item, item.Span, nil))
			}
		}
	case own == nil:
	case preset == nil || len(preset.Types) == 0:
		list = append(list, d.reader(n, own.At, nil))
	case len(preset.Types) == 1:
		list = append(list, d.reader(n, own.At, &preset.Types[0]))
	default:
		codes := n.Written("codes")
		if other := d.firstOf(n.Without("codes"), readerKeys...); other != nil {
			d.problem(other.At, "P104", "the preset has several types: write types with all of them instead of %s", other.Key)
			return nil
		}
		added := d.matches(codes, d.codeItem)
		for _, r := range preset.Types {
			if r.Code.Name != "" {
				r.Codes = overMatches(added, r.Codes)
			}
			list = append(list, r)
		}
	}
	return list
}

// firstOf returns the first entry of a map that has one of keys and is not null.
func (d decoder) firstOf(n *syntax.Node, keys ...string) *syntax.Entry {
	for i := range n.Entries {
		if e := &n.Entries[i]; slices.Contains(keys, e.Key) && !e.Value.IsNull() {
			return e
		}
	}
	return nil
}

// reader reads what a map says about a type, over the reader of a preset, which may
// be nil.
func (d decoder) reader(n *syntax.Node, at syntax.Span, preset *Reader) Reader {
	before := d.errors()
	r := Reader{
		Type:     optional(d, n, d.symbolOf, "type").value,
		Status:   optional(d, n, d.path, "status").value,
		Response: optional(d, n, d.path, "response").value,
		GRPC:     optional(d, n, d.path, "grpc").value, RetryAfter: optional(d, n, d.path, "retry_after").value,
		Code:  optional(d, n, d.path, "code").value,
		Codes: d.matches(n.Written("codes"), d.codeItem),
		Class: optional(d, n, d.outcome, "class").value,
	}
	if preset != nil {
		r = r.over(*preset)
	}
	r.Pos = posOf(at)
	if d.errors() == before {
		d.judgeReader(n, at, r)
	}
	return r
}

// judgeReader reports keys that exclude or need each other.
func (d decoder) judgeReader(n *syntax.Node, at syntax.Span, r Reader) {
	written := func(key string) syntax.Span {
		if e := n.Written(key); e != nil {
			return e.At
		}
		return at
	}
	switch {
	case r.Type.Name == "":
		d.problem(at, "P102", "type is missing: write the type of the error, as \"*example.com/api.Error\"")
	case r.Class.Name != "" && (r.Status.Name != "" || r.Response.Name != "" || r.GRPC.Name != "" || r.Code.Name != ""):
		d.problem(written("class"), "P104",
			"class is that of every error of the type: remove it, or status, response, grpc and code")
	case r.Code.Name == "" && len(r.Codes) > 0:
		d.problem(written("codes"), "P109", "codes is not read without code: write the field or method that has the code")
	case r.Code.Name != "" && len(r.Codes) == 0:
		d.problem(written("code"), "P109", "code is not read without codes: write what the codes mean")
	case r.Class.Name == "" && r.Status.Name == "" && r.Response.Name == "" && r.GRPC.Name == "" && r.Code.Name == "" &&
		r.RetryAfter.Name == "":
		d.problem(at, "P102", "%s has nothing to read: write status, response, grpc, code, retry_after or class",
			r.Type.Name)
	}
}

// symbolOf reads the name of a Go type.
func (d decoder) symbolOf(e *syntax.Entry) (Symbol, bool) { return d.goSymbol(e.Value) }

// goSymbol reads the name of a Go symbol.
func (d decoder) goSymbol(n *syntax.Node) (Symbol, bool) {
	name, ok := n.Value.(string)
	if !ok || !goSymbol.MatchString(name) {
		d.problem(n.Span, "P102", "%s is not a Go symbol: write it as go doc does, with the import path of its package",
			syntax.Quote(n.Text))
		return Symbol{}, false
	}
	return Symbol{name, posOf(n.Span)}, true
}

// Self is the path of the error itself.
const Self = "self"

var goPath = regexp.MustCompile(`^[\pL_][\pL\p{Nd}_]*(?:\.[\pL_][\pL\p{Nd}_]*)*$`)

// path reads a path of fields and methods.
func (d decoder) path(e *syntax.Entry) (Symbol, bool) {
	name, ok := e.Value.Value.(string)
	switch {
	case ok && strings.Contains(name, "()") && goPath.MatchString(strings.ReplaceAll(name, "()", "")):
		d.problem(e.Value.Span, "P102", "%s: write methods without parentheses, as %s", e.Key,
			strings.ReplaceAll(name, "()", ""))
		return Symbol{}, false
	case !ok || !goPath.MatchString(name) || name == Self && e.Key != "code":
		d.problem(e.Value.Span, "P102", "%s is a path of fields and methods, as Response.StatusCode, not %s", e.Key,
			e.Value.Describe())
		return Symbol{}, false
	}
	return Symbol{name, posOf(e.Value.Span)}, true
}

// outcome reads what every error of a type means.
func (d decoder) outcome(e *syntax.Entry) (Symbol, bool) {
	name, _ := e.Value.Value.(string)
	if !slices.Contains(Outcomes, name) {
		d.problem(e.Value.Span, "P102", "%s is one of %s, not %s", e.Key, strings.Join(Outcomes, ", "), e.Value.Describe())
		return Symbol{}, false
	}
	return Symbol{name, posOf(e.Value.Span)}, true
}

// matches reads a map of outcomes to the values that mean them.
func (d decoder) matches(e *syntax.Entry, item func(*syntax.Node) (Symbol, bool)) (list []Match) {
	if e == nil || !d.isMap(e.Value, e.Key) {
		return nil
	}
	d.unknownKeys(e.Value, "", Outcomes...)
	first := map[string]string{} // the outcome of each value
	for i := range e.Value.Entries {
		entry := &e.Value.Entries[i]
		if entry.Value.IsNull() || !slices.Contains(Outcomes, entry.Key) {
			continue
		}
		m := Match{Outcome: Symbol{entry.Key, posOf(entry.At)}}
		for _, n := range d.list(entry, "what means "+entry.Key) {
			v, ok := item(n)
			if !ok {
				continue
			}
			if have := first[v.Name]; have != "" {
				d.problem(n.Span, "P104", "%s is in %s already: remove one of the two", syntax.Quote(v.Name), have)
				continue
			}
			first[v.Name] = entry.Key
			m.Values = append(m.Values, v)
		}
		list = append(list, m)
	}
	return list
}

// symbolItem reads a variable or a function.
func (d decoder) symbolItem(n *syntax.Node) (Symbol, bool) {
	s, ok := d.goSymbol(n)
	if ok && strings.HasPrefix(s.Name, "*") {
		d.problem(n.Span, "P102", "%s is a pointer type: write it as type", syntax.Quote(s.Name))
		return Symbol{}, false
	}
	return s, ok
}

// packages reads a list of import paths.
func (d decoder) packages(e *syntax.Entry) (list []Symbol) {
	for _, n := range d.list(e, "import paths, as example.com/acme") {
		if path, ok := n.Value.(string); ok && importPath.MatchString(path) {
			list = append(list, Symbol{path, posOf(n.Span)})
			continue
		}
		d.problem(n.Span, "P102", "an item of packages is an import path, as example.com/acme, not %s", n.Describe())
	}
	return list
}

var importPath = regexp.MustCompile(`^[\pL\p{Nd}_.~\-]+(?:/[\pL\p{Nd}_.~\-]+)*$`)

// textItem reads a part of the text of an error.
func (d decoder) textItem(n *syntax.Node) (Symbol, bool) {
	text, ok := n.Value.(string)
	if !ok || text == "" {
		d.problem(n.Span, "P102", "an item of text is a part of the text of an error, not %s", n.Describe())
		return Symbol{}, false
	}
	return Symbol{text, posOf(n.Span)}, true
}

// codeItem reads a code: a number, a range of them, or a text, whose end may be *
// for any.
func (d decoder) codeItem(n *syntax.Node) (Symbol, bool) {
	switch n.Value.(type) {
	case string, int64, float64:
		if text := strings.TrimSuffix(n.Text, "*"); n.Text != "" && !strings.Contains(text, "*") {
			return Symbol{n.Text, posOf(n.Span)}, true
		}
	}
	d.problem(n.Span, "P102", "%s is not a code: write a text, its beginning as \"08*\", a number, or a range as 500-599",
		syntax.Quote(n.Text))
	return Symbol{}, false
}
