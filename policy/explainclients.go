package policy

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	retry "github.com/retrygen/retrygen/runtime"
)

// ExplainClients describes how the policy uses the facts that are read from each client's
// errors, and how many attempts the client itself makes. Errors from w are ignored.
func (f *File) ExplainClients(w io.Writer, p *Policy) {
	if len(f.Clients) == 0 {
		return
	}
	fmt.Fprint(w, "\nerrors of clients:\n")
	lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range f.Clients {
		c := &f.Clients[i]
		fmt.Fprintf(lines, "  %s\t%s; errors without any of these: %s\n", c.Name, strings.Join(p.outcomes(c), ", "),
			p.effect(retry.Facts{}))
	}
	lines.Flush()
	for i := range f.Clients {
		if c := &f.Clients[i]; c.Attempts > 1 {
			fmt.Fprintf(w, "%s\n", p.multiplied(c, f.Amplification))
		}
	}
}

// Product returns how many attempts the policy and a client make together for one call.
// It returns false if the policy does not limit its attempts.
func (p *Policy) Product(c *Client) (attempts int, limited bool) {
	if p.MaxAttempts == retry.Unlimited {
		return 0, false
	}
	return p.MaxAttempts * max(1, c.Attempts), true
}

// multiplied describes how many attempts the policy and a client make together.
func (p *Policy) multiplied(c *Client, limit int) string {
	text := fmt.Sprintf("%s makes %d attempts itself", c.Name, c.Attempts)
	if product, limited := p.Product(c); limited {
		text += fmt.Sprintf(": %d x %d = %d", p.MaxAttempts, c.Attempts, product)
		if product > limit {
			text += fmt.Sprintf(", more than limits.amplification %d", limit)
		}
	}
	if c.Off != "" {
		text += "; to make one: " + c.Off
	}
	return text
}

// outcomes describes what the policy does with what is read of the errors of a
// client: samples of each kind, as "404 fails".
func (p *Policy) outcomes(c *Client) (list []string) {
	add := func(what string, f retry.Facts) {
		if text := what + " " + p.effect(f); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	for _, r := range c.Types {
		if r.Status.Name != "" || r.Response.Name != "" {
			for _, status := range []int{404, 409, 429, 500, 503} {
				add(fmt.Sprint(status), retry.Facts{Status: status})
			}
		}
		if r.GRPC.Name != "" {
			for _, name := range []string{"NOT_FOUND", "RESOURCE_EXHAUSTED", "UNAVAILABLE"} {
				add(name, retry.Facts{GRPC: uint32(slices.Index(grpcNames, name) + 1)})
			}
		}
		if r.Class.Name != "" {
			add(shortName(r.Type.Name), FactsOf(r.Class.Name))
		}
		for _, m := range r.Codes {
			add(someOf(m.Values, func(code string) string {
				if code == "*" {
					return "any other code"
				}
				return code
			}), FactsOf(m.Outcome.Name))
		}
	}
	for _, m := range slices.Concat(c.Is, c.Test) {
		add(someOf(m.Values, shortName), FactsOf(m.Outcome.Name))
	}
	for _, m := range c.Text {
		add(someOf(m.Values, func(text string) string { return fmt.Sprintf("%q", text) }), FactsOf(m.Outcome.Name))
	}
	return list
}

// someOf lists the first values.
func someOf(values []Symbol, text func(string) string) string {
	const most = 2
	var names []string
	for _, v := range values[:min(len(values), most)] {
		names = append(names, text(v.Name))
	}
	if len(values) > most {
		names = append(names, "…")
	}
	return strings.Join(names, " ")
}

// majorVersion matches the major version at the end of an import path.
var majorVersion = regexp.MustCompile(`/v(N|[0-9]+)$`)

// shortName returns a Go symbol without its import path, as redis.Nil.
func shortName(symbol string) string {
	symbol = strings.TrimPrefix(symbol, "*")
	path, name := symbol, ""
	if dot := strings.LastIndexByte(symbol, '.'); dot > strings.LastIndexByte(symbol, '/') {
		path, name = symbol[:dot], symbol[dot:]
	}
	path = majorVersion.ReplaceAllString(path, "")
	return path[strings.LastIndexByte(path, '/')+1:] + name
}

// unnamed is an error about which only facts are known.
type unnamed struct{}

func (unnamed) Error() string { return "" }

// effect describes what the policy does with an error with known facts.
func (p *Policy) effect(f retry.Facts) string {
	read := func(error) (retry.Facts, bool) { return f, f != (retry.Facts{}) }
	class := ""
	for _, c := range []retry.Class{retry.ClassRateLimit, retry.ClassServerError, retry.ClassTimeout, retry.ClassNetwork} {
		if (&retry.Policy{RetryOn: []retry.Class{c}, Facts: read}).Retries(unnamed{}) {
			class = string(c)
			break
		}
	}
	own := p.Policy
	own.Facts = read
	switch retried := own.Retries(unnamed{}); {
	case retried && class != "":
		return class
	case retried:
		return "retried"
	case class != "":
		return class + " but fails"
	}
	return "fails"
}
