package retrygen

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/retrygen/retrygen/policy"
)

// TestPresetsPage keeps the table in docs/guides/presets.md the same as the
// presets.
func TestPresetsPage(t *testing.T) {
	name := filepath.Join("docs", "guides", "presets.md")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const header = "| preset | client | reads | outcomes | attempts | how to switch its retries off |\n" +
		"|---|---|---|---|---|---|\n"
	before, _, _ := strings.Cut(string(text), header)
	var b strings.Builder
	for _, name := range policy.Presets() {
		c := policy.Preset(name)
		attempts := ""
		if c.Attempts > 0 {
			attempts = strconv.Itoa(c.Attempts)
		}
		fmt.Fprintf(&b, "| `%s` | %s; %s | %s | %s | %s | %s |\n", name, c.Description, codeList(packagesOf(c)),
			strings.Join(readBy(c), ", "), codeList(outcomesOf(c)), attempts, code(c.Off))
	}
	page(t, name, before+header+b.String())
}

// codeList writes words as code.
func codeList(words []string) string {
	list := slices.Clone(words)
	for i, word := range list {
		list[i] = code(word)
	}
	return strings.Join(list, ", ")
}

// packagesOf returns the packages whose errors a preset reads, without those below
// others.
func packagesOf(c *policy.Client) (list []string) {
	add := func(symbol string) {
		path := strings.TrimPrefix(symbol[:strings.LastIndex(symbol, ".")], "*")
		path = strings.ReplaceAll(path, "/vN", "")
		isBelow := func(below, above string) bool { return below == above || strings.HasPrefix(below, above+"/") }
		if slices.ContainsFunc(list, func(have string) bool { return isBelow(path, have) }) {
			return
		}
		list = append(slices.DeleteFunc(list, func(have string) bool { return isBelow(have, path) }), path)
	}
	for _, r := range c.Types {
		add(r.Type.Name)
	}
	for _, m := range slices.Concat(c.Is, c.Test) {
		for _, v := range m.Values {
			add(v.Name)
		}
	}
	return list
}

// readBy returns what a preset reads of an error.
func readBy(c *policy.Client) (list []string) {
	has := func(test func(policy.Reader) bool) bool { return slices.ContainsFunc(c.Types, test) }
	for _, what := range []struct {
		name string
		is   bool
	}{
		{"status", has(func(r policy.Reader) bool { return r.Status.Name != "" || r.Response.Name != "" })},
		{"gRPC code", has(func(r policy.Reader) bool { return r.GRPC.Name != "" })},
		{"code", has(func(r policy.Reader) bool { return r.Code.Name != "" })},
		{"wait", has(func(r policy.Reader) bool { return r.RetryAfter.Name != "" || r.Response.Name != "" })},
		{"type", has(func(r policy.Reader) bool { return r.Class.Name != "" })},
		{"variables", len(c.Is) > 0},
		{"functions", len(c.Test) > 0},
		{"text", len(c.Text) > 0},
	} {
		if what.is {
			list = append(list, what.name)
		}
	}
	return list
}

// outcomesOf returns the outcomes that a preset gives, in the order of
// policy.Outcomes.
func outcomesOf(c *policy.Client) []string {
	given := map[string]bool{}
	for _, m := range slices.Concat(c.Is, c.Test, c.Text) {
		given[m.Outcome.Name] = true
	}
	for _, r := range c.Types {
		given[r.Class.Name] = true
		for _, m := range r.Codes {
			given[m.Outcome.Name] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(policy.Outcomes), func(o string) bool { return !given[o] })
}
