package docs_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retrygen/retrygen/docs"
)

func TestText(t *testing.T) {
	const page docs.Page = "# P999: title of it\n\nSeverity: error.\n\n## What it reports\n\n" +
		"`max_delay` is a setting that has an effect on each of the words in this paragraph.\n\n" +
		"## Example\n\n```yaml\n# a comment\n\n- item: '`quoted`'\n```\n\n" +
		"## Not reported\n\n- Items whose text is too long for one line, such as this one about `[ok](x)` and `others`.\n" +
		"- Others.\n\n## Related\n\n[P998](P998.md), [P997](P997.md)\n"
	const want = "P999: title of it\n\nSeverity: error.\n\nWhat it reports:\n\n" +
		"  max_delay is a setting that has an effect on each of the words in this\n  paragraph.\n\n" +
		"Example:\n\n    # a comment\n\n    - item: '`quoted`'\n\n" +
		"Not reported:\n\n  - Items whose text is too long for one line, such as this one about ok and\n    others.\n" +
		"  - Others.\n\nRelated:\n\n  P998, P997\n"
	if diff := cmp.Diff(want, page.Text()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := page.Title(); got != "title of it" {
		t.Errorf("the title is %q", got)
	}
}

func TestUnknownRule(t *testing.T) {
	for _, id := range []string{"", "P999", "README", "../rules/P101", "P101.md"} {
		if page := docs.Rule(id); page != "" || page.Title() != "" {
			t.Errorf("%q has a page: %s", id, page)
		}
	}
}
