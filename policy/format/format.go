// Package format rewrites policy files in the canonical spelling of the language, as
// gofmt does for Go. Package policy records the spellings that a file uses. Package
// format defines the canonical spellings.
package format

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// Source returns the text of a policy file with the canonical names and spellings
// of the language. It preserves everything else: comments, order, indentation.
// Formatting the result again changes nothing.
//
// If the meaning of the file is ambiguous, Source returns problems and no text. It
// preserves a part that cannot be rewritten without changing its meaning, such as a part
// that an anchor shares with other parts. name is only used for positions.
func Source(name string, text []byte) ([]byte, []policy.Problem) {
	// An older key may hide one that << merges in, which the next pass rewrites.
	const maxPasses = 10
	for range maxPasses {
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

// rewrite runs one pass of Source.
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
	// Keys and values change first, since keys that hide each other must change together.
	kept := harmless(nil, w.respelled(spellings), sameMeaning)
	return w.with(harmless(kept, w.moved(spellings), sameMeaning)), nil
}

// harmless returns kept and a subset of changes for which ok returns true: all of
// them, or else what it returns for each half. ok must hold for kept.
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

// isClear reports whether a file with the problem still has an unambiguous meaning.
// A policy may break a rule, or not be supported yet, and be written correctly.
func isClear(p policy.Problem) bool {
	return p.Severity != rules.Error || rules.ByID(p.Rule) != nil || p.Rule[:2] != "P1" && p.Rule[:2] != "P9"
}

// meaning returns the meaning of a file as text to compare: the resolved values and
// the reported problems, without their positions.
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

// writeMeaning writes every field of a value, exported or not, except positions.
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
