package emit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/retrygen/retrygen/policy"
)

// wordless are the settings that the comment above a policy does not describe, with
// the reason.
var wordless = map[string]string{
	"description":   "the comment has it as a paragraph of its own",
	"extends":       "what is inherited is described",
	"durable":       "the comment above the step describes it",
	"record":        "the same",
	"on_lost":       "the same",
	"lost_max":      "the same",
	"result":        "the same",
	"park_after":    "the same",
	"resume_spread": "the same",
	"on_changed":    "the same",
	"reload":        "a sentence of its own does",
}

// TestWordsOfEverySetting: the comment above a policy describes each setting of the
// language.
func TestWordsOfEverySetting(t *testing.T) {
	name := filepath.Join("..", "..", "..", "testdata", "policies", "ok", "settings.yaml")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	file, problems := policy.Check(name, text)
	if file == nil {
		t.Fatal(problems)
	}
	describe := func(p policy.Policy) string { return words("", &p.Policy) + sharedWords(Policy{Policy: p}) }
	plain := describe(file.Policies[0])
	for _, p := range file.Policies[1:] {
		if described, excused := describe(p) != plain, wordless[p.Name] != ""; described == excused {
			t.Errorf("the comment above a policy describes %s: %v: add words for it in words.go, or add to wordless why there "+
				"are none", p.Name, described)
		}
	}
}
