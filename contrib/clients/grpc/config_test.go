package grpcretry

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"github.com/retrygen/retrygen/foreign"
	"github.com/retrygen/retrygen/policy/rules"
)

var configs = flag.Int("configs", 2000, "how many service configs TestRefused gives to grpc-go")

// TestRefused: exactly the service configs that grpc-go refuses have a problem that says so, in
// files and as constants of Go programs. To compare more of them:
//
//	go test -run TestRefused -configs 100000
func TestRefused(t *testing.T) {
	parse := parser(t)
	random := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for range *configs {
		c := randomConfig{Rand: random, wrong: random.IntN(3) * 25}
		text := c.config()
		if !compare(t, parse, text) {
			refused++
		}
	}
	t.Logf("grpc-go refuses %d of %d service configs", refused, *configs)
}

// FuzzRefused is [TestRefused] for texts that resemble the seeds.
func FuzzRefused(f *testing.F) {
	parse := parser(f)
	random := rand.New(rand.NewPCG(3, 4))
	for i := range 200 {
		c := randomConfig{Rand: random, wrong: i % 50}
		f.Add(c.config())
	}
	f.Fuzz(func(t *testing.T, text string) { compare(t, parse, text) })
}

// compare compares what is reported for a service config with what grpc-go does, and reports
// whether grpc-go accepts it.
func compare(t *testing.T, parse func(string) error, text string) (accepted bool) {
	t.Helper()
	err := parse(text)
	if err != nil && namesOtherPolicy(text) {
		return false // a program that has the policy may accept the config
	}
	for _, reader := range []struct {
		name   string
		report func([]byte) []string
	}{{"retrygen check", checkFile}, {"retrylint", checkConstant}} {
		problems := reader.report([]byte(text))
		has := func(texts ...string) bool {
			return slices.ContainsFunc(problems, func(p string) bool {
				return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(p, text) })
			})
		}
		refuses := has("grpc-go refuses")
		// grpc-go merges fields that are written twice. It has no limits like P100.
		other := has("duplicate key", "again for grpc-go") || !refuses && has("[P100]")
		if reader.name == "retrygen check" && (!json.Valid([]byte(text)) || strings.HasPrefix(text, "[")) {
			other = true // a file may be YAML, or a list of configs
		}
		if refuses != (err != nil) && !other {
			t.Errorf("grpc-go: %v\n%s: %q\n%s", err, reader.name, problems, text)
		}
	}
	return err == nil
}

// namesOtherPolicy reports whether loadBalancingConfig has a policy that this program does not have.
func namesOtherPolicy(text string) bool {
	var config struct{ LoadBalancingConfig []map[string]json.RawMessage }
	_ = json.Unmarshal([]byte(text), &config) // as far as it can be read
	return slices.ContainsFunc(config.LoadBalancingConfig, func(policy map[string]json.RawMessage) bool {
		for name := range policy {
			if balancer.Get(name) == nil {
				return true
			}
		}
		return false
	})
}

func checkFile(text []byte) (problems []string) {
	f, found := foreign.Check("config.json", text, foreign.Options{From: foreign.ByName("grpc")})
	for _, p := range append(found, f.Unread...) {
		if p.Severity == rules.Error {
			problems = append(problems, p.String())
		}
	}
	return problems
}

func checkConstant(text []byte) (problems []string) {
	foreign.CheckGRPC(text, func(_, _, _ int, rule, text string) { problems = append(problems, text+" ["+rule+"]") })
	return problems
}

// parser returns the parser for service configs of a client of grpc-go, as resolvers get it.
func parser(t testing.TB) func(string) error {
	t.Helper()
	var clients []resolver.ClientConn
	r := manual.NewBuilderWithScheme("configs")
	r.BuildCallback = func(_ resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) {
		clients = append(clients, cc)
	}
	conn, err := grpc.NewClient("configs:///", grpc.WithResolvers(r),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	conn.Connect()
	if len(clients) != 1 {
		t.Fatalf("%d resolvers were built", len(clients))
	}
	return func(text string) error { return clients[0].ParseServiceConfig(text).Err }
}

// A randomConfig writes a service config of JSON.
type randomConfig struct {
	*rand.Rand
	out   strings.Builder
	wrong int // of 1000 values, how many are of any kind
}

// strange are values that a field does not have, or not in that form.
var strange = []string{
	"null", "true", "false", "0", "1", "-1", "2", "4", "5.0", "1e2", "3.5", "17", "1e400", "18446744073709551615",
	"{}", "[]", "[{}]", "[null]", "[[]]", `{"a": {}}`, `""`, `"4"`, `"s"`, `".s"`, `"-1s"`, `"--1s"`, `"+1s"`, `"0s"`,
	`"0.0s"`, `"1.-5s"`, `"1m"`, `"1.5"`, `"1.2.3s"`, `"0.1234567891s"`, `"315576000000s"`, `"315576000001s"`,
	`"9223372037s"`, `"99999999999999999999s"`, `"é"`, `"unavailable"`, `"UNAVAILABLE"`, `"OK"`, `"NOWHERE"`,
	`"1e400"`, `"null"`, `" "`, `"\ud83d\ude00"`,
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// value writes a value: one of those, or a strange one.
func (c *randomConfig) value(texts ...string) {
	if c.IntN(1000) < c.wrong {
		texts = strange
	}
	c.out.WriteString(pick(c.Rand, texts...))
}

// A field is a field of a map; most maps have it unless it is optional.
type field struct {
	name     string
	optional bool
	write    func()
}

// object writes a map with most of the fields, in any order.
func (c *randomConfig) object(fields ...field) {
	if c.IntN(1000) < c.wrong {
		c.value(strange...)
		return
	}
	c.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	c.out.WriteByte('{')
	first := true
	for _, f := range fields {
		for range 2 {
			if f.optional && c.IntN(2) == 0 || c.IntN(1000) < c.wrong {
				break
			}
			if !first {
				c.out.WriteByte(',')
			}
			first = false
			c.out.WriteString(pick(c.Rand, "", "", " ", "\n\t"))
			c.out.WriteString(c.spelled(f.name) + ": ")
			f.write()
			if c.IntN(2000) >= c.wrong {
				break // and not twice
			}
		}
	}
	c.out.WriteByte('}')
}

// spelled returns the name of a field, sometimes in another case.
func (c *randomConfig) spelled(name string) string {
	switch c.IntN(1 + 2*c.wrong/5) {
	case 1:
		name = strings.ToUpper(name[:1]) + name[1:]
	case 2:
		name = strings.ToUpper(name)
	case 3:
		name = strings.Replace(name, "s", "ſ", 1) // folds to s
	case 4:
		name += "s"
	}
	text, _ := json.Marshal(name)
	return string(text)
}

func (c *randomConfig) list(most int, item func()) {
	if c.IntN(1000) < c.wrong {
		c.value(strange...)
		return
	}
	c.out.WriteByte('[')
	for i := range c.IntN(most + 1) {
		if i > 0 {
			c.out.WriteString(", ")
		}
		item()
	}
	c.out.WriteByte(']')
}

// of returns a function that writes one of several values.
func (c *randomConfig) of(texts ...string) func() { return func() { c.value(texts...) } }

// config returns a service config.
func (c *randomConfig) config() string {
	c.object(
		field{"methodConfig", false, func() { c.list(4, c.method) }},
		field{"loadBalancingPolicy", true, c.of(`"round_robin"`, `"pick_first"`, `"other"`)},
		field{"loadBalancingConfig", true, c.of(`[{"round_robin": {}}]`, `[{"other": {}}, {"round_robin": {}}]`,
			`[{"pick_first": {"shuffleAddressList": true}}]`, `[{"pick_first": {}}, {"other": 1}]`)},
		field{"retryThrottling", true, func() {
			c.object(field{"maxTokens", false, c.of("10", "0.5", "1000")}, field{"tokenRatio", false, c.of("0.1", "1", "2e1")})
		}},
		field{"healthCheckConfig", true, func() { c.object(field{"serviceName", true, c.of(`""`, `"a.B"`)}) }},
	)
	text := c.out.String()
	if c.IntN(2000) < c.wrong {
		text = text[:c.IntN(len(text)+1)] // not JSON
	}
	return text
}

func (c *randomConfig) method() {
	c.object(
		field{"name", false, func() {
			c.list(2, func() {
				c.object(
					field{"service", c.IntN(10) == 0, c.of(`"a.A"`, `"a.B"`, `"a.C"`, `"a.D"`, `"a.E"`, `"a.A/B"`)},
					field{"method", true, c.of(`"A"`, `"B"`, `"C"`, `"B/"`, `""`)},
				)
			})
		}},
		field{"timeout", true, c.of(`"10s"`, `"0.5s"`, `".1s"`)},
		field{"waitForReady", true, c.of("true", "false")},
		field{"maxRequestMessageBytes", true, c.of("1024", "0", "-1")},
		field{"maxResponseMessageBytes", true, c.of("1024")},
		field{"hedgingPolicy", true, c.of(`{"maxAttempts": 2}`)},
		field{"retryPolicy", true, func() {
			c.object(
				field{"maxAttempts", false, c.of("2", "3", "4", "5", "100")},
				field{"initialBackoff", false, c.of(`"0.1s"`, `".01s"`, `"1s"`)},
				field{"maxBackoff", false, c.of(`"1s"`, `"10.s"`, `"120s"`)},
				field{"backoffMultiplier", false, c.of("1", "1.5", "2", "2.0", "0.5")},
				field{"retryableStatusCodes", false, func() {
					c.out.WriteString("[")
					c.value(`"UNAVAILABLE"`, "14", `"CANCELLED"`)
					c.out.WriteString(", ")
					c.value(`"RESOURCE_EXHAUSTED"`, "8", "0", "16")
					c.out.WriteString("]")
				}},
			)
		}},
	)
}
