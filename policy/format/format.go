// Package format rewrites policy files to the canonical spellings of the
// language, as gofmt does Go. Package policy records how a file is written;
// this package knows how it should be written.
package format

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// Source returns the text of a policy file with the canonical names and spellings
// of the language. It preserves everything else: comments, order, indentation.
// Formatting the result again changes nothing.
//
// Source returns problems, and no text, for a file whose meaning is not certain.
// A part that cannot be rewritten without a change of meaning, since an anchor
// shares it with other parts, is preserved. name is only used for positions.
func Source(name string, text []byte) ([]byte, []policy.Problem) {
	// An earlier name may hide one that << merges in, which the next pass rewrites.
	const most = 10
	for range most {
		formatted, unclear := rewrite(name, text)
		if unclear != nil {
			return nil, unclear
		}
		if bytes.Equal(formatted, text) {
			break
		}
		text = formatted
	}
	return text, nil
}

// rewrite formats what it finds in one reading.
func rewrite(name string, text []byte) ([]byte, []policy.Problem) {
	file, problems, spellings := policy.Read(name, text)
	if unclear := slices.DeleteFunc(slices.Clone(problems), isClear); len(unclear) > 0 {
		return nil, unclear
	}
	w := newRewriter(text, spellings)
	want := meaning(file, problems)
	tries := min(100, 1+syntax.MaxBytes*4/len(text)) // each reads the file
	sameMeaning := func(changes []change) bool {
		tries--
		if tries < 0 {
			return false
		}
		file, problems, _ := policy.Read(name, w.with(changes))
		return meaning(file, problems) == want
	}
	// First the names: keys that hide each other change together.
	kept := harmless(nil, w.respelled(spellings), sameMeaning)
	return w.with(harmless(kept, w.moved(spellings), sameMeaning)), nil
}

// harmless returns kept and those of changes that are ok with them: all, or else
// those of each half. What is kept is ok.
func harmless(kept, changes []change, ok func([]change) bool) []change {
	if all := slices.Concat(kept, changes); len(changes) == 0 || ok(all) {
		return all
	}
	if len(changes) == 1 {
		return kept
	}
	half := len(changes) / 2
	return harmless(harmless(kept, changes[:half], ok), changes[half:], ok)
}

// isClear reports whether the meaning of a file with the problem is certain: a
// policy may be wrong, or not supported yet, and still be written correctly.
func isClear(p policy.Problem) bool {
	return p.Severity != rules.Error || rules.ByID(p.Rule) != nil || p.Rule[:2] != "P1" && p.Rule[:2] != "P9"
}

// meaning returns all that a file means, as text: the values that it resolves to
// and the problems that are reported, without their places.
func meaning(file *policy.File, problems []policy.Problem) string {
	var b strings.Builder
	found := make([]string, len(problems))
	for i, p := range problems {
		found[i] = p.Severity.String() + " " + p.Rule
	}
	slices.Sort(found)
	fmt.Fprintln(&b, found)
	if file != nil {
		writeMeaning(&b, reflect.ValueOf(*file))
	}
	return b.String()
}

// writeMeaning writes every field of a value, exported or not, but for places.
func writeMeaning(w io.Writer, v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[policy.Pos](), reflect.TypeFor[syntax.Span](), reflect.TypeFor[map[rules.Field]policy.Pos]():
		return
	case reflect.TypeFor[*regexp.Regexp]():
		if !v.IsNil() && v.CanInterface() {
			fmt.Fprintf(w, "%q", v.Interface())
		}
		return
	}
	if v.Type() == reflect.TypeFor[retry.ErrorClass]() {
		v = v.FieldByName("Class") // the rest is a pattern in its name, or one of the file's Errors
	}
	switch v.Kind() {
	case reflect.Struct:
		fmt.Fprintf(w, "%s{", v.Type())
		for i := range v.NumField() {
			fmt.Fprintf(w, "%s:", v.Type().Field(i).Name)
			writeMeaning(w, v.Field(i))
			fmt.Fprint(w, ";")
		}
		fmt.Fprint(w, "}\n")
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			writeMeaning(w, v.Elem())
		}
	case reflect.Slice, reflect.Array:
		fmt.Fprint(w, "[")
		for i := range v.Len() {
			writeMeaning(w, v.Index(i))
			fmt.Fprint(w, ",")
		}
		fmt.Fprint(w, "]")
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		for _, key := range keys {
			fmt.Fprintf(w, "%q:", fmt.Sprint(key))
			writeMeaning(w, v.MapIndex(key))
		}
	default:
		fmt.Fprintf(w, "%#v", v)
	}
}
