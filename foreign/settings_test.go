package foreign

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/retrygen/retrygen/policy/rules"
)

// common are settings whose value in settings.yaml is what every other system does.
var common = map[rules.Field]string{"unknown": "unknown errors are retried"}

// TestExportOfEverySetting: an exported document has each setting of a policy, or a
// loss says that it has not.
func TestExportOfEverySetting(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "testdata", "policies", "ok", "settings.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), "policies:\n")
	list, _, _ := strings.Cut(rest, "bind:\n")
	policies := regexp.MustCompile(`(?m)^  (\w+): (.*)$`).FindAllStringSubmatch(list, -1)
	for _, kind := range Kinds() {
		if !kind.Exports() {
			continue
		}
		export := func(settings string) (result string, ok bool) {
			file := head + "policies:\n  plain: {}\n  p: " + settings + "\n"
			if strings.Contains(settings, "durable:") {
				file += "bind: {F: {policy: p, id: id, idempotent: key}}\n"
			}
			document, losses, problems := Export(kind, "f", []byte(file))
			for _, l := range losses {
				document = fmt.Appendf(document, "%s: %s\n", l.Path, l.Why)
			}
			return string(document), len(problems) == 0
		}
		check := func(name rules.Field, without, settings string) {
			plain, _ := export(without)
			with, valid := export(settings)
			if !valid && without == "{}" {
				t.Errorf("%s is not valid", settings)
			}
			lost := strings.Contains(with, "policies.p."+string(name)+": ")
			if valid && with == plain && !lost && !slices.Contains(withoutEffect, name) && common[name] == "" {
				t.Errorf("%s: %s changes nothing and is no loss: write it where the format is encoded, or call "+
					"encoder.lose there with the reason; or add it to withoutEffect or to common", kind.Name, settings)
			}
		}
		for _, m := range policies[1:] {
			check(partOf(rules.Field(m[1])), "{}", m[2])
			// Not valid for settings that a class cannot have.
			check("per_error.timeout", "{per_error: {timeout: {}}}", "{per_error: {timeout: "+m[2]+"}}")
		}
	}
}

// partOf returns the setting that a field is a part of, or the field.
func partOf(field rules.Field) rules.Field {
	switch {
	case field == "jitter_factor":
		return "jitter"
	case slices.Contains(parts, field):
		return "backoff"
	}
	return field
}
