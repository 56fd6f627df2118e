package foreign

import (
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/retrygen/retrygen/policy"
)

// TestOrdinaryFiles: files of a repository that have no policy are not taken for files
// that have one, and have no problems.
func TestOrdinaryFiles(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/ordinary.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if len(archive.Files) < 28 {
		t.Errorf("got %d files", len(archive.Files))
	}
	for _, file := range archive.Files {
		if policy.Recognize(file.Data) {
			t.Errorf("%s is taken for a policy file", file.Name)
		}
		f, problems := Check(file.Name, file.Data, Options{})
		for _, k := range f.Kinds {
			t.Errorf("%s is taken for a %s", file.Name, k.Title)
		}
		for _, p := range append(problems, f.Unread...) {
			t.Errorf("%s: %v", file.Name, p)
		}
	}
}
