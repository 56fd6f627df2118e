package storm

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retrygen/retrygen/policy"
)

var update = flag.Bool("update", false, "rewrite the expectations")

// readScenario reads a scenario and the policy files that it names.
func readScenario(t *testing.T, name string) (*System, []policy.Problem) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	sys, problems, err := Read(filepath.Base(name), text, func(path string) (*policy.File, error) {
		path = filepath.Join(filepath.Dir(name), path)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		f, problems := policy.Check(path, text)
		if f == nil {
			t.Fatal(problems)
		}
		return f, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sys, problems
}

// TestScenarios: each scenario in ok describes itself as in its .out, and each in err has
// the problems in its .out.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/scenarios/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			sys, problems := readScenario(t, name)
			var lines []string
			for _, p := range problems {
				lines = append(lines, p.String())
			}
			isOK := filepath.Base(filepath.Dir(name)) == "ok"
			if isOK != (sys != nil) {
				t.Errorf("got the problems %q", lines)
			}
			if sys != nil {
				lines = sys.Describe()
				if _, err := Simulate(sys, Options{Seeds: 1, MaxEvents: 1_000_000}); err != nil {
					t.Error(err)
				}
			}
			got := strings.Join(lines, "\n") + "\n"
			out := strings.TrimSuffix(name, ".yaml") + ".out"
			if *update {
				if err := os.WriteFile(out, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, _ := os.ReadFile(out)
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzRead: no text lets Read panic, and every problem is at a line of it.
func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob("testdata/scenarios/*/*.yaml")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	text, err := os.ReadFile("testdata/scenarios/retry.yaml")
	if err != nil {
		f.Fatal(err)
	}
	policies, _ := policy.Check("retry.yaml", text)
	f.Fuzz(func(t *testing.T, text string) {
		sys, problems, err := Read("storm.yaml", []byte(text), func(string) (*policy.File, error) { return policies, nil })
		if err != nil || (sys == nil) != (len(problems) > 0) {
			t.Errorf("got the system %v, %d problems and the error %v", sys != nil, len(problems), err)
		}
		for _, p := range problems {
			if p.Line < 1 || p.Line > strings.Count(text, "\n")+1 || p.Col < 1 {
				t.Errorf("%v: there is no such place", p)
			}
		}
	})
}

// TestSweep: a range has values from its first to its last, in the form of these, and a
// value replaces the one in the file.
func TestSweep(t *testing.T) {
	for text, want := range map[string]string{
		"a.b=1..3":            "1 2 3",
		"a.b=1,4, 5":          "1 4 5",
		"a.b=0..1":            "0 1",
		"a.b=0.02..0.5":       "0.02 0.032 0.05 0.079 0.13 0.2 0.32 0.5",
		"a.b=100ms..5s":       "100ms 170ms 310ms 530ms 940ms 1.6s 2.9s 5s",
		"a.b=10..1000":        "10 19 37 72 139 268 518 1000",
		"a.b=0.5..0.6":        "0.5 0.51 0.53 0.54 0.56 0.57 0.59 0.6",
		"a.b=0.1..nan":        "error: 0.1..nan is no range: write two numbers or durations, the lesser first",
		"a.b=-inf..1":         "error: -inf..1 is no range: write two numbers or durations, the lesser first",
		"a.b=3..1":            "error: 3..1 is no range: write two numbers or durations, the lesser first",
		"a.b=x..y":            "error: x..y is no range: write two numbers or durations, the lesser first",
		"budgets.calls.ratio": "error: write a path and its values, as budgets.calls.ratio=0.02..0.5",
	} {
		s, err := ParseSweep(text)
		got := ""
		if err != nil {
			got = "error: " + err.Error()
		} else {
			got = strings.Join(s.Values, " ")
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	for path, want := range map[string]string{
		"budgets.calls.ratio": "budgets: {calls: {ratio: NEW}} # 0.1\n",
		"budgets.calls.burst": "error: retry.yaml has no budgets.calls.burst: write it, with any value",
		"budgets.calls":       "error: budgets.calls of retry.yaml is not a single value",
	} {
		got, err := (&Sweep{Path: path}).Apply("retry.yaml", []byte("budgets: {calls: {ratio: 0.1}} # 0.1\n"), "NEW")
		if err != nil {
			got = []byte("error: " + err.Error())
		}
		if string(got) != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

// TestRequirements: a requirement is met if the worst run meets it.
func TestRequirements(t *testing.T) {
	v := &Verdict{Outcomes: []Outcome{
		{Harmed: true, Recovered: true, After: 10e9, Calls: 100, Failed: 5, Amplification: 1.5, P99: 0.8},
		{Harmed: true, Recovered: true, After: 20e9, Calls: 100, Failed: 10, Amplification: 1.25, P99: 1.2},
	}}
	never := &Verdict{Outcomes: []Outcome{{Harmed: true, Recovered: true}, {Harmed: true, Amplification: 3}}}
	for _, test := range []struct {
		v    *Verdict
		text string
		want string
	}{
		{v, "recovery<30s", ""},
		{v, "recovery<20s", "recovery<20s: 20s"},
		{v, "recovery <= 20s, failed<=10%", ""},
		{v, "failed<0.05, p99 < 1s", "failed<0.05: 10 % p99<1s: 1.2s"},
		{v, "amplification<1.5", "amplification<1.5: 1.50"},
		{never, "recovery<24h", "recovery<24h: never"},
		{v, "speed<3", `error: there is no metric "speed": write recovery, amplification, failed, p99`},
		{v, "recovery>3s", `error: "recovery>3s" is no requirement: write a metric, < or <=, and a limit, as recovery<30s`},
		{v, "failed<many", `error: failed: "many" is no number`},
		{v, "", `error: "" is no requirement: write a metric, < or <=, and a limit, as recovery<30s`},
	} {
		list, err := ParseRequirements(test.text)
		var got []string
		if err != nil {
			got = append(got, "error: "+err.Error())
		}
		for i := range list {
			if value, ok := list[i].Met(test.v); !ok {
				got = append(got, list[i].String()+": "+value)
			}
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("%s: got %s, want %s", test.text, got, test.want)
		}
	}
}
