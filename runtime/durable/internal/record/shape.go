package record

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

// A Shape describes the JSON that json.Marshal writes for a type. A scan compares JSON with a
// shape, and finds the values of some fields without decoding the others. This takes a tenth of
// the time of json.Unmarshal.
//
// A scan accepts nothing that decodeJSON refuses. It need not accept everything else: its
// caller decodes the rest with decodeJSON.
type Shape struct {
	kind   shapeKind
	digits int          // maximum number of digits of an integer
	fields []shapeField // fields of an object, in the order in which they are written
	found  int          // index of the value in scan.found, or -1
}

type shapeField struct {
	name string
	Shape
}

// A shapeKind is a kind of JSON that json.Marshal writes for a type.
type shapeKind uint8

const (
	shapeOther   shapeKind = iota // a scan accepts nothing
	shapeText                     // a string
	shapeInteger                  // an integer without a fraction or an exponent
	shapeNatural                  // an integer that is not negative
	shapeBoolean
	shapeTime   // a time.Time
	shapeBytes  // a []byte: a string, whose base64 is not checked
	shapeValue  // a json.RawMessage
	shapeObject // a struct
)

// ShapeOf returns the shape of a type. find lists the paths of the fields whose values scans
// find, such as "result.json".
func ShapeOf(t reflect.Type, path string, find ...string) Shape {
	s := Shape{found: -1}
	for i, f := range find {
		if f == path {
			s.found = i
		}
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		s.kind = shapeTime
	case t == reflect.TypeFor[json.RawMessage]():
		s.kind = shapeValue
	case t == reflect.TypeFor[[]byte]() && s.found >= 0: // the caller that asks for the value decodes it
		s.kind = shapeBytes
	case implements[json.Marshaler](t) || implements[encoding.TextMarshaler](t):
	case t.Kind() == reflect.String:
		s.kind = shapeText
	case t.Kind() == reflect.Bool:
		s.kind = shapeBoolean
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64:
		s.kind, s.digits = shapeInteger, digitsOf(t)
	case t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uint64:
		s.kind, s.digits = shapeNatural, digitsOf(t)
	case t.Kind() == reflect.Struct:
		s.kind = shapeObject
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				continue
			}
			s.fields = append(s.fields, shapeField{name, ShapeOf(f.Type, strings.TrimPrefix(path+"."+name, "."), find...)})
		}
	}
	return s
}

// implements reports whether values of t, or pointers to them, implement an interface.
func implements[I any](t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[I]())
}

// digitsOf returns a number of digits that every value of an integer type can hold.
func digitsOf(t reflect.Type) int {
	return map[int]int{8: 2, 16: 4, 32: 9, 64: 18}[t.Bits()]
}

// A scan reads JSON that has a given shape.
type scan struct {
	data  []byte
	at    int       // index of the next byte to read
	found [5][]byte // parts of data; nil if absent
}

// Scan reports whether the data has the shape. found contains the parts of data at the paths
// that were passed to [ShapeOf], or nil if they are absent. Strings are without quotes.
func (sh *Shape) Scan(data []byte) (found [5][]byte, ok bool) {
	s := scan{data: data}
	ok = s.value(sh) && s.at == len(data)
	return s.found, ok
}

// value reads a value with a given shape.
func (s *scan) value(sh *Shape) bool {
	begin, ok := s.at, false
	switch sh.kind {
	case shapeText, shapeBytes:
		text, plain, isText := s.text()
		if sh.found >= 0 {
			s.found[sh.found] = text
			return isText && plain && utf8.Valid(text)
		}
		return isText
	case shapeInteger:
		s.next('-')
		ok = s.natural(sh.digits)
	case shapeNatural:
		ok = s.natural(sh.digits)
	case shapeBoolean:
		ok = s.word("true") || s.word("false")
	case shapeTime:
		ok = s.time()
	case shapeValue:
		ok = s.any(100)
	case shapeObject:
		ok = s.object(sh.fields)
	}
	if ok && sh.found >= 0 {
		s.found[sh.found] = s.data[begin:s.at]
	}
	return ok
}

// object reads an object that has some of the fields, in order.
func (s *scan) object(fields []shapeField) bool {
	if !s.next('{') {
		return false
	}
	if s.next('}') {
		return true
	}
	for i := 0; ; i++ {
		name, _, ok := s.text()
		if !ok || !s.next(':') {
			return false
		}
		for i < len(fields) && fields[i].name != string(name) {
			i++
		}
		if i == len(fields) || !s.value(&fields[i].Shape) {
			return false
		}
		if !s.next(',') {
			return s.next('}')
		}
	}
}

// next reads one byte if it is c.
func (s *scan) next(c byte) bool {
	if s.at == len(s.data) || s.data[s.at] != c {
		return false
	}
	s.at++
	return true
}

// word reads the word w.
func (s *scan) word(w string) bool {
	if !bytes.HasPrefix(s.data[s.at:], []byte(w)) {
		return false
	}
	s.at += len(w)
	return true
}

// text reads a string. The string is plain if it has no escapes.
func (s *scan) text() (text []byte, plain, ok bool) {
	if !s.next('"') {
		return nil, false, false
	}
	plain = true
	for i := s.at; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case c == '"':
			text, s.at = s.data[s.at:i], i+1
			return text, plain, true
		case c < ' ':
			return nil, false, false
		case c == '\\':
			plain = false
			n := escaped(s.data[i+1:])
			if n == 0 {
				return nil, false, false
			}
			i += n
		}
	}
	return nil, false, false
}

// escaped returns the length of the escape sequence after a backslash, or 0 if it is invalid.
func escaped(b []byte) int {
	switch {
	case len(b) == 0:
		return 0
	case strings.IndexByte(`"\/bfnrt`, b[0]) >= 0:
		return 1
	case b[0] != 'u' || len(b) < 5:
		return 0
	}
	for _, c := range b[1:5] {
		if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
			return 0
		}
	}
	return 5
}

// natural reads an integer without a sign that has at most the given number of digits.
func (s *scan) natural(most int) bool {
	n := s.whole()
	return n > 0 && n <= most
}

// whole reads digits and returns their number. It returns 0 if there are several digits and the
// first is 0.
func (s *scan) whole() int {
	first := s.next('0')
	n := s.digits()
	switch {
	case !first:
		return n
	case n > 0:
		return 0
	}
	return 1
}

// digits reads digits and returns their number.
func (s *scan) digits() int {
	begin := s.at
	for s.at < len(s.data) && isDigit(s.data[s.at]) {
		s.at++
	}
	return s.at - begin
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// time reads a string that is a time.
func (s *scan) time() bool {
	begin := s.at
	if _, plain, ok := s.text(); !ok || !plain {
		return false
	}
	var t time.Time
	return t.UnmarshalJSON(s.data[begin:s.at]) == nil
}

// any reads any value without white space. depth limits the nesting of arrays and objects.
func (s *scan) any(depth int) bool {
	if s.at == len(s.data) || depth == 0 {
		return false
	}
	switch s.data[s.at] {
	case '{':
		return s.list('}', func() bool {
			_, _, ok := s.text()
			return ok && s.next(':') && s.any(depth-1)
		})
	case '[':
		return s.list(']', func() bool { return s.any(depth - 1) })
	case '"':
		_, _, ok := s.text()
		return ok
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	return s.number()
}

// list reads the elements of an array or object, including the brackets.
func (s *scan) list(end byte, element func() bool) bool {
	s.at++
	if s.next(end) {
		return true
	}
	for element() {
		if !s.next(',') {
			return s.next(end)
		}
	}
	return false
}

// number reads a number.
func (s *scan) number() bool {
	s.next('-')
	if s.whole() == 0 || s.next('.') && s.digits() == 0 {
		return false
	}
	if !s.next('e') && !s.next('E') {
		return true
	}
	if !s.next('+') {
		s.next('-')
	}
	return s.digits() > 0
}
