package bind

import (
	"go/build/constraint"
	"maps"
	"slices"
	"strings"
)

// ports lists the operating systems and architectures of the Go distribution, as go tool dist
// list prints them.
const ports = `aix/ppc64 android/386 android/amd64 android/arm android/arm64 darwin/amd64 darwin/arm64 dragonfly/amd64
freebsd/386 freebsd/amd64 freebsd/arm freebsd/arm64 illumos/amd64 ios/amd64 ios/arm64 js/wasm linux/386 linux/amd64
linux/arm linux/arm64 linux/loong64 linux/mips linux/mips64 linux/mips64le linux/mipsle linux/ppc64 linux/ppc64le
linux/riscv64 linux/s390x netbsd/386 netbsd/amd64 netbsd/arm netbsd/arm64 openbsd/386 openbsd/amd64 openbsd/arm
openbsd/arm64 openbsd/ppc64 openbsd/riscv64 plan9/386 plan9/amd64 plan9/arm solaris/amd64 wasip1/wasm windows/386
windows/amd64 windows/arm64`

// hasTag reports whether a build for a system and architecture satisfies a tag.
func hasTag(system, architecture, tag string) bool {
	switch tag {
	case system, architecture:
		return true
	case "unix":
		return !slices.Contains([]string{"js", "plan9", "wasip1", "windows"}, system)
	}
	return variants[tag] != "" && variants[tag] == system
}

// Or returns the build constraint that is satisfied if any given constraint is satisfied,
// or "" if every build satisfies it. It simplifies a constraint that contains only
// systems and architectures.
func Or(constraints ...string) string {
	var any constraint.Expr
	for _, text := range constraints {
		one, err := constraint.Parse("//go:build " + text)
		if err != nil {
			continue
		}
		if any == nil {
			any = one
		} else {
			any = &constraint.OrExpr{X: any, Y: one}
		}
	}
	if any == nil {
		return ""
	}
	tags := ownTags(any)
	const maxTags = 8 // all combinations are tried, so there are at most 256
	if len(tags) <= maxTags && always(any, tags) {
		return ""
	}
	if len(tags) > 0 || len(constraints) == 1 {
		return any.String()
	}
	return systems(any)
}

// ownTags returns the tags of a constraint that are not operating systems or architectures.
func ownTags(expr constraint.Expr) (tags []string) {
	known := map[string]bool{"unix": true}
	for _, word := range strings.FieldsFunc(ports, func(r rune) bool { return r <= ' ' || r == '/' }) {
		known[word] = true
	}
	walk(expr, func(tag string) {
		if !known[tag] && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	})
	return tags
}

// walk calls f with each tag of a constraint.
func walk(expr constraint.Expr, f func(tag string)) {
	switch expr := expr.(type) {
	case *constraint.TagExpr:
		f(expr.Tag)
	case *constraint.NotExpr:
		walk(expr.X, f)
	case *constraint.AndExpr:
		walk(expr.X, f)
		walk(expr.Y, f)
	case *constraint.OrExpr:
		walk(expr.X, f)
		walk(expr.Y, f)
	}
}

// always reports whether every port satisfies a constraint, for every combination of its own
// tags.
func always(expr constraint.Expr, tags []string) bool {
	for port := range strings.FieldsSeq(ports) {
		system, architecture, _ := strings.Cut(port, "/")
		for set := range 1 << len(tags) {
			if !expr.Eval(func(tag string) bool {
				i := slices.Index(tags, tag)
				return i >= 0 && set&(1<<i) != 0 || hasTag(system, architecture, tag)
			}) {
				return false
			}
		}
	}
	return true
}

// variants maps an operating system to another one that also satisfies its tag.
var variants = map[string]string{"linux": "android", "darwin": "ios", "solaris": "illumos"}

// systems returns an equivalent of a constraint that contains only operating systems and
// architectures. It lists the systems that satisfy the constraint, or those that do not if
// there are fewer of them.
func systems(expr constraint.Expr) string {
	with, without := map[string][]string{}, map[string][]string{}
	names := map[string]bool{}
	for port := range strings.FieldsSeq(ports) {
		system, architecture, _ := strings.Cut(port, "/")
		names[system] = true
		if expr.Eval(func(tag string) bool { return hasTag(system, architecture, tag) }) {
			with[system] = append(with[system], architecture)
		} else {
			without[system] = append(without[system], architecture)
		}
	}
	has, lacks := terms(names, with, without), terms(names, without, with)
	text := strings.Join(has, " || ")
	if len(lacks) < len(has) {
		text = "!(" + strings.Join(lacks, " || ") + ")"
	}
	parsed, err := constraint.Parse("//go:build " + text)
	if err != nil { // no port satisfies it
		return expr.String()
	}
	return parsed.String()
}

// terms returns a term for each operating system that has architectures in with. The term lists
// these architectures if the system also has some in without.
func terms(names map[string]bool, with, without map[string][]string) (list []string) {
	whole := func(system string) bool { return len(with[system]) > 0 && len(without[system]) == 0 }
	for _, system := range slices.Sorted(maps.Keys(names)) {
		variant, term := variants[system], system
		switch {
		case len(with[system]) == 0, whole(system) && whole(original(system)):
			continue // the term of the original system includes it
		case variant != "" && !(whole(system) && whole(variant)):
			term += " && !" + variant
		}
		if !whole(system) {
			term += " && (" + strings.Join(with[system], " || ") + ")"
		}
		list = append(list, term)
	}
	return list
}

// original returns the operating system whose tag a variant also satisfies, or "".
func original(variant string) string {
	for system, one := range variants {
		if one == variant {
			return system
		}
	}
	return ""
}
