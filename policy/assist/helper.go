package assist

import (
	"slices"
	"strings"
)

// isHelper reports whether the value at a path names a Go function that a wrapper calls besides
// the bound one.
func isHelper(path []string) bool {
	return len(path) > 2 && path[0] == "bind" &&
		slices.Contains([]string{"fallback", "check", "release"}, path[len(path)-1])
}

// boundAt returns the symbol that is bound by the entry to which a path leads: F, T.M or T.
func boundAt(path []string) string {
	if len(path) > 3 && path[2] == "methods" {
		return path[1] + "." + path[3]
	}
	return path[1]
}

// helperNamed returns the symbol that a helper at a path names: a method of the bound method's
// type, or a function.
func helperNamed(name string, path []string, symbols []Symbol) string {
	recv, _, _ := strings.Cut(boundAt(path), ".")
	if method := recv + "." + name; slices.ContainsFunc(symbols, func(s Symbol) bool { return s.Name == method }) {
		return method
	}
	return name
}

// helpers returns the functions that fit the bound one as its fallback, check or release.
func helpers(path []string, symbols []Symbol) (list []Completion) {
	name := boundAt(path)
	i := slices.IndexFunc(symbols, func(s Symbol) bool { return s.Name == name && !s.IsWhole })
	if i < 0 {
		return nil
	}
	recv, _, isMethod := strings.Cut(name, ".")
	for _, s := range symbols {
		label := s.Name
		typ, method, ofType := strings.Cut(s.Name, ".")
		if ofType {
			label = method
		}
		switch {
		case s.Name == name || s.IsWhole || !s.fits(path[len(path)-1], &symbols[i]):
		case ofType && (path[len(path)-1] != "fallback" || !isMethod || typ != recv):
		default:
			list = append(list, Completion{Label: label, Kind: GoName, Detail: s.Signature, Doc: s.Doc, Insert: label})
		}
	}
	return list
}

// fits reports whether a function has the parameters and results that a helper of a bound
// function must have. Types are compared as they are written.
func (s *Symbol) fits(helper string, bound *Symbol) bool {
	values := bound.Results
	if n := len(values); n > 0 && values[n-1] == "error" {
		values = values[:n-1]
	}
	switch helper {
	case "fallback":
		params := append(slices.Clone(bound.Params), "error")
		if n := len(bound.Params); n > 0 {
			if element, variadic := strings.CutPrefix(params[n-1], "..."); variadic {
				params[n-1] = "[]" + element
			}
		}
		return slices.Equal(s.Params, params) && slices.Equal(s.Results, bound.Results)
	case "check":
		return slices.Equal(s.Results, []string{"error"}) &&
			(slices.Equal(s.Params, values) || slices.Equal(s.Params, bound.Results))
	default:
		return len(s.Results) == 0 && slices.Equal(s.Params, values)
	}
}
