package foreign

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
)

// nginxKind is the kind for the directive proxy_next_upstream, and the corresponding directives
// of other protocols, in the configuration of nginx 1.29. Source: the documentation of
// ngx_http_proxy_module and similar modules.
var nginxKind = Kind{
	Name: "nginx", Title: "nginx configuration",
	recognize: func(doc *syntax.Node) bool {
		return hasDirective(doc, nextSuffixes...) && hasDirective(doc, "_pass")
	},
	language: (*syntax.Excerpt).Nginx,
	decode: func(d *decoder, doc *value) {
		c := nginxConfig{d: d, upstreams: map[string]*syntax.Node{}}
		c.findUpstreams(doc.n)
		// A fragment is included in a block that contains other directives.
		c.block("", doc, nginxScope{open: !doc.has("http")})
		doc.skip()
	},
}

// nginxProtocols lists the prefixes of directives, as in proxy_pass and grpc_pass.
var nginxProtocols = []string{"proxy", "grpc", "fastcgi", "uwsgi", "scgi", "memcached"}

// nginxBlocks lists the blocks that inherit directives from the block that contains them.
var nginxBlocks = []string{"http", "server", "location", "if"}

const nextSuffix = "_next_upstream"

// nextSuffixes lists the ends of the directives that determine when the next server is tried.
var nextSuffixes = []string{nextSuffix, nextSuffix + "_tries", nextSuffix + "_timeout"}

// nginxTimeouts lists the ends of the directives that limit the time of one server.
var nginxTimeouts = []string{"_read_timeout", "_connect_timeout", "_send_timeout"}

// hasDirective reports whether a block, or a block within it, has a directive of any protocol
// with one of the given ends.
func hasDirective(n *syntax.Node, ends ...string) bool {
	for _, protocol := range nginxProtocols {
		for _, end := range ends {
			if n.Get(protocol+end) != nil {
				return true
			}
		}
	}
	for _, name := range nginxBlocks {
		if slices.ContainsFunc(at(n, name).Items, func(inner *syntax.Node) bool { return hasDirective(inner, ends...) }) {
			return true
		}
	}
	return false
}

// A nginxConfig is the configuration of one file.
type nginxConfig struct {
	d         *decoder
	upstreams map[string]*syntax.Node // blocks that define groups of servers
}

// A nginxScope contains the directives that apply in a block.
type nginxScope struct {
	directives map[string]*value
	open       bool // other directives may be written elsewhere
}

func (c *nginxConfig) findUpstreams(n *syntax.Node) {
	for _, group := range at(n, "upstream").Items {
		c.upstreams[at(group, "").Text] = group
	}
	for _, http := range at(n, "http").Items {
		c.findUpstreams(http)
	}
}

// block adds a policy for each block that passes requests and sets when the next server is
// tried.
func (c *nginxConfig) block(name string, b *value, outer nginxScope) {
	scope := nginxScope{directives: map[string]*value{}, open: outer.open}
	maps.Copy(scope.directives, outer.directives)
	for _, v := range b.get("include").items() {
		scope.open = scope.open || !strings.HasSuffix(v.n.Text, "mime.types")
	}
	for _, protocol := range nginxProtocols {
		for _, end := range slices.Concat(nextSuffixes, nginxTimeouts) {
			if list := b.get(protocol + end).items(); len(list) > 0 && !list[0].n.IsMap() {
				scope.directives[protocol+end] = list[0]
			}
		}
		if list := b.get(protocol + "_pass").items(); len(list) > 0 && !list[0].n.IsMap() {
			c.pass(name, protocol, b, list[0], scope)
		}
	}
	for _, key := range nginxBlocks {
		for _, inner := range b.get(key).items() {
			if inner.n.IsMap() {
				c.block(cmp.Or(at(inner.n, "").Text, name), inner, scope)
			}
		}
	}
}

// pass adds the policy of a block with proxy_pass, or with the corresponding directive of
// another protocol.
func (c *nginxConfig) pass(name, protocol string, b, target *value, scope nginxScope) {
	directive := func(end string) *value { return scope.directives[protocol+end] }
	u := nextUpstream{
		at: b, words: words{
			"max_attempts": protocol + nextSuffix + "_tries", nginxConditions: protocol + nextSuffix,
			"max_elapsed": protocol + nextSuffix + "_timeout", "attempt_timeout": protocol + "_read_timeout",
			nginxOpens: protocol + "_connect_timeout",
		},
		format: nginxTime, server: "nginx", partial: scope.open, ioTimeout: time.Minute, openTimeout: time.Minute,
		conditions: directive(nextSuffix), tries: directive(nextSuffix + "_tries"), limit: directive(nextSuffix + "_timeout"),
		read: directive("_read_timeout"), opens: directive("_connect_timeout"), sends: directive("_send_timeout"),
	}
	if u.conditions == nil && u.tries == nil && u.limit == nil {
		return
	}
	_, address, found := strings.Cut(target.n.Text, "://")
	if !found {
		address = target.n.Text
	}
	address, _, _ = strings.Cut(address, "/")
	group := c.upstreams[address]
	if group != nil || !strings.ContainsAny(address, "$:") {
		name = address
	}
	p := c.d.nginxPolicy(cmp.Or(name, address), u)
	own := b.get(protocol + nextSuffix).items()
	if server := onlyServer(address, group); server != "" && len(own) > 0 && p.MaxAttempts != 1 {
		own[0].warn("P109", "%s finds no other server, since %s is the only one: add servers to an upstream, or "+
			"remove it", own[0].key, server)
	}
}

// onlyServer returns the server of a group, or the address if there is no group. It returns ""
// if more than one server can be tried.
func onlyServer(address string, group *syntax.Node) string {
	if group != nil {
		list := at(group, "server").Items
		if len(list) != 1 || group.Get("include") != nil {
			return ""
		}
		address, _, _ = strings.Cut(list[0].Text, " ")
	}
	if _, err := netip.ParseAddrPort(address); err == nil {
		return address
	}
	if _, err := netip.ParseAddr(address); err == nil || strings.HasPrefix(address, "unix:") {
		return address
	}
	return "" // a name may have several addresses
}

var nginxTimePart = regexp.MustCompile(`^(\d{1,9})(ms|[smhdwMy]?)`)

var nginxUnits = map[string]time.Duration{
	"ms": time.Millisecond, "": time.Second, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
	"w": 7 * 24 * time.Hour, "M": 30 * 24 * time.Hour, "y": 365 * 24 * time.Hour,
}

// nginxTime parses durations such as 1m30s. A number without a unit is in seconds.
func nginxTime(text string) (sum time.Duration, err error) {
	for rest := strings.TrimSpace(text); ; {
		m := nginxTimePart.FindStringSubmatch(rest)
		if m == nil {
			return 0, fmt.Errorf("%s is no time of nginx: write 30s or 1m", syntax.Quote(text))
		}
		n, _ := strconv.Atoi(m[1])
		unit := nginxUnits[m[2]]
		part := time.Duration(n) * unit
		if part/unit != time.Duration(n) || sum+part < sum {
			return 0, tooLong(text)
		}
		sum += part
		if rest = strings.TrimSpace(rest[len(m[0]):]); rest == "" {
			return sum, nil
		}
	}
}
