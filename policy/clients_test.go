package policy

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retrygen/retrygen/schema"
)

// TestPresets: each preset can be read and is described, and editors know its
// name.
func TestPresets(t *testing.T) {
	for _, name := range Presets() {
		c, problems := readPreset(name)
		for _, p := range problems {
			t.Error(p)
		}
		if c != nil && c.Description == "" {
			t.Errorf("preset %s has no description", name)
		}
		if c != nil && c.Attempts > 1 && c.Off == "" {
			t.Errorf("preset %s makes %d attempts: write under off how to make one", name, c.Attempts)
		}
	}
	var root struct {
		Properties struct {
			Clients struct {
				AnyOf []struct {
					Items struct {
						Enum []string `json:"enum"`
					} `json:"items"`
				} `json:"anyOf"`
			} `json:"clients"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(schema.JSON(), &root); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Presets(), root.Properties.Clients.AnyOf[1].Items.Enum); diff != "" {
		t.Errorf("the names of presets in clients (-presets +schema):\n%s", diff)
	}
}

func TestShortName(t *testing.T) {
	for symbol, want := range map[string]string{
		"ErrGone":                           "ErrGone",
		"io.EOF":                            "io.EOF",
		"*example.com/acme.Error":           "acme.Error",
		"github.com/redis/go-redis/v9.Nil":  "go-redis.Nil",
		"github.com/jackc/pgx/vN.ErrNoRows": "pgx.ErrNoRows",
		"gopkg.in/yaml.v3.TypeError":        "yaml.v3.TypeError",
	} {
		if got := shortName(symbol); got != want {
			t.Errorf("shortName(%q) = %q, want %q", symbol, got, want)
		}
	}
}

// TestClientOverPreset: a file's own keys go before those of the preset.
func TestClientOverPreset(t *testing.T) {
	match := func(outcome string, values ...string) (m Match) {
		m.Outcome.Name = outcome
		for _, v := range values {
			m.Values = append(m.Values, Symbol{Name: v})
		}
		return m
	}
	preset := Preset("minio")
	f, problems := Check("retry.yaml", []byte(`
version: 1
clients: {minio: {codes: {permanent: [SlowDown, Gone], timeout: [Late]}, attempts: 1, is: {network: [a.Err]}}}
`))
	if f == nil {
		t.Fatal(problems)
	}
	c := f.Clients[0]
	c.place(Pos{})
	want := *preset
	want.Attempts = 1
	want.Is = []Match{match("network", "a.Err")}
	want.Types[0].Codes = overMatches([]Match{match("permanent", "SlowDown", "Gone"), match("timeout", "Late")},
		Preset("minio").Types[0].Codes)
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, m := range c.Types[0].Codes {
		if m.Outcome.Name == "rate_limit" && m.Values[0].Name == "SlowDown" {
			t.Error("SlowDown has two outcomes")
		}
	}
}
