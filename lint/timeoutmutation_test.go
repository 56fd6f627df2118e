package lint

import (
	"fmt"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// timeoutShapes are ways from an outer timeout of 5s to an inner one, and what
// must be said of it.
var timeoutShapes = map[string]string{
	"direct": `
func f(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ctx, cancel2 := context.WithTimeout(ctx, %s) %s
	defer cancel2()
	use(ctx)
}`,
	"parameter": `
func f(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	g(ctx)
}

func g(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, %s) %s
	defer cancel()
	use(ctx)
}`,
	"closure": `
func f(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	func() {
		inner, cancel := context.WithTimeout(ctx, %s) %s
		defer cancel()
		use(inner)
	}()
}`,
	"result": `
func f(ctx context.Context) {
	ctx, cancel := outer(ctx)
	defer cancel()
	ctx, cancel2 := context.WithTimeout(ctx, %s) %s
	defer cancel2()
	use(ctx)
}

func outer(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 5*time.Second)
}`,
}

// TestTimeoutMutations raises the inner timeout of every shape, from below the
// outer one to it and beyond: it must stay silent, speak, and speak.
func TestTimeoutMutations(t *testing.T) {
	files := map[string]string{}
	var packages []string
	for shape, body := range timeoutShapes {
		for value, want := range map[string]string{
			"4*time.Second": "",
			"5*time.Second": "// want `inner timeout 5s equals .*RL301`",
			"6*time.Second": "// want `inner timeout 6s exceeds .*RL301`",
		} {
			name := fmt.Sprintf("%s%d", shape, len(packages))
			files[name+"/p.go"] = "package p\n\nimport (\n\t\"context\"\n\t\"time\"\n)\n" +
				fmt.Sprintf(body, value, want) + "\n\nfunc use(context.Context) {}\n"
			packages = append(packages, name)
		}
	}
	dir, cleanup, err := analysistest.WriteFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	defer cleanup()
	analysistest.Run(t, dir, TimeLimits, packages...)
}
