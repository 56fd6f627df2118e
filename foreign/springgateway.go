package foreign

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
)

// The Retry filter of Spring Cloud Gateway. Sources: spring-cloud-gateway,
// RetryGatewayFilterFactory, up to 5.0, and Backoff of reactor-addons for the delays.

var gatewayRetryWords = words{
	countsRetries: "retries", "initial_delay": "firstBackoff", "max_delay": "maxBackoff", "base": "factor",
	fixedBackoff: "factor: 1", "retry_on": "statuses", "max_elapsed": "timeout", "attempt_timeout": "response-timeout",
	fullJitter: "jitter.randomFactor: 1",
}

// The defaults of the filter.
const (
	gatewayRetries = 3
	gatewayFirst   = 5 * time.Millisecond
	gatewayFactor  = 2
	gatewayRandom  = 0.5
)

// gatewayShort lists the fields of the short form in their order, as in
// Retry=3,BAD_GATEWAY,GET.
var gatewayShort = []string{
	"retries", "statuses", "methods", "backoff.firstBackoff", "backoff.maxBackoff", "backoff.factor",
	"backoff.basedOnPreviousValue", "jitter.randomFactor", "timeout",
}

// isGatewayRetry reports whether a value is a Retry filter.
func isGatewayRetry(n *syntax.Node) bool {
	return n.IsMap() && at(n, "name").Text == "Retry" && !at(n, "args").IsList() ||
		strings.HasPrefix(n.Text, "Retry=")
}

// gatewayPaths lists the paths under which filters are configured, in current and older
// versions.
var gatewayPaths = [][]string{
	{"cloud", "gateway", "server", "webflux"}, {"cloud", "gateway"},
}

// gatewayRoutes converts the Retry filters of routes.
func (d *decoder) gatewayRoutes(root *value) {
	for _, path := range gatewayPaths {
		for _, part := range springParts(root, path, "gateway") {
			gateway := part.value
			limit := fieldFolded(fieldFolded(gateway, "httpclient"), "response-timeout")
			if list := fieldFolded(gateway, "default-filters"); list != nil && list.n.IsList() {
				d.gatewayFilters("default_filters", list, limit, springDuration)
			}
			routes := fieldFolded(gateway, "routes")
			if routes == nil || !routes.n.IsList() {
				continue
			}
			for _, route := range routes.items() {
				own, format := limit, durationFormat(springDuration)
				if v := fieldFolded(route.get("metadata"), "response-timeout"); v != nil {
					own, format = v, in(time.Millisecond)
				}
				if list := route.get("filters"); list != nil && list.n.IsList() {
					d.gatewayFilters(cmp.Or(route.get("id").text(), "route"), list, own, format)
				}
			}
		}
	}
}

// gatewayFilters converts the Retry filters of a list. Each filter retries the calls that the
// following filters make, so two filters become two policies.
func (d *decoder) gatewayFilters(name string, list, limit *value, format durationFormat) {
	for _, f := range list.items() {
		if !isGatewayRetry(f.n) {
			continue
		}
		args := f.get("args")
		if _, text, short := strings.Cut(f.n.Text, "="); short {
			args = &value{d: d, n: shortArgs(f.n, text), key: f.key, path: f.path, at: f.at}
		}
		p := d.policy(name, gatewayRetryWords, f)
		p.MaxAttempts, p.InitialDelay, p.MaxDelay, p.Backoff = gatewayRetries+1, retry.None, retry.None, retry.BackoffFixed
		retries := args.get("retries")
		switch n, ok := retries.int(); {
		case !ok:
			p.refused("max_attempts", retries)
		case n < 1:
			p.refused("max_attempts", retries)
			retries.mistake("P102", "Spring Cloud Gateway refuses retries %d: write at least 1", n)
		default:
			p.attempts(retries, 1)
		}
		p.gatewayDelays(args)
		d.gatewayErrors(p, args)
		p.duration("max_elapsed", args.get("timeout"), springDuration)
		p.duration("attempt_timeout", limit, format)
		if args != nil {
			d.unread(args)
		}
	}
}

// shortArgs returns the arguments of the short form as a map.
func shortArgs(f *syntax.Node, text string) *syntax.Node {
	var entries []syntax.Entry
	for i, part := range strings.Split(text, ",") {
		if i < len(gatewayShort) {
			entries = append(entries, syntax.Entry{Key: "args." + gatewayShort[i], Value: syntax.Text(strings.TrimSpace(part))})
		}
	}
	args := at(syntax.Map(entries...).Undotted("args"), "args")
	args.Place(f.Span)
	return args
}

// gatewayDelays reads the backoff. If there is none, retries are not delayed.
func (p *Policy) gatewayDelays(args *value) {
	b := args.get("backoff")
	if b == nil {
		return
	}
	p.Backoff, p.Base, p.InitialDelay = retry.BackoffExponential, gatewayFactor, gatewayFirst
	p.duration("initial_delay", b.get("firstBackoff"), springDuration)
	p.duration("max_delay", b.get("maxBackoff"), springDuration)
	switch {
	case p.InitialDelay == retry.None:
		b.get("firstBackoff").mistake("P102", "Spring Cloud Gateway refuses a firstBackoff of 0: write at least 1ms, or "+
			"remove backoff")
		p.judged = append(p.judged, "P204")
	case p.MaxDelay > 0 && p.MaxDelay < p.InitialDelay:
		b.get("maxBackoff").mistake("P201", "Spring Cloud Gateway refuses a maxBackoff %s below firstBackoff %s: raise it",
			duration.Format(p.MaxDelay), duration.Format(p.InitialDelay))
		p.judged = append(p.judged, "P201")
	}
	p.base(b.get("factor"))
	if p.InitialDelay == p.MaxDelay {
		p.Backoff, p.Base = retry.BackoffFixed, 0
	}
	b.get("basedOnPreviousValue").skip()
	if j := args.get("jitter"); j != nil {
		p.Jitter, p.JitterFactor = retry.JitterProportional, gatewayRandom
		p.jitterFactor(j.get("randomFactor"))
	}
}

// gatewayErrors reads which responses and exceptions are retried.
func (d *decoder) gatewayErrors(p *Policy, args *value) {
	args.get("methods").lose("it lists the methods whose requests are retried, GET by default")
	statuses, series := args.get("statuses"), args.get("series")
	for _, v := range textsIn(statuses) {
		if status := springStatus(v.text); status != 0 {
			p.retryOn(d.http(status, status), v.value)
		} else if v.text != "" {
			v.value.note("%s is a status that is not known here", syntax.Quote(v.text))
		}
	}
	switch names := textsIn(series); {
	case series == nil:
		p.retryOn(d.http(500, 599), statuses)
	default:
		for _, v := range names {
			if first := springSeries[v.text]; first != 0 {
				p.retryOn(d.http(first, first+99), v.value)
			} else if v.text != "" {
				v.value.note("%s is a series that is not known here", syntax.Quote(v.text))
			}
		}
	}
	if exceptions := args.get("exceptions"); exceptions != nil {
		d.javaClasses(p, "retry_on", exceptions)
		return
	}
	p.retryOn(retry.ClassNetwork, nil)
	p.retryOn(retry.ClassTimeout, nil)
}

// A writtenText is a string, with the value that contains it.
type writtenText struct {
	text  string
	value *value
}

// textsIn returns the strings of a list, or the parts of a string with commas.
func textsIn(v *value) (list []writtenText) {
	if v == nil {
		return nil
	}
	items := []*value{v}
	if v.n.IsList() {
		items = v.items()
	}
	for _, item := range items {
		for text := range strings.SplitSeq(item.text(), ",") {
			list = append(list, writtenText{strings.TrimSpace(text), item})
		}
	}
	return list
}

// springSeries maps the names of Spring's series to their first status.
var springSeries = map[string]int{"CLIENT_ERROR": 400, "SERVER_ERROR": 500}

// springStatus returns the status for a number or a name, such as BAD_GATEWAY, or 0.
func springStatus(text string) int {
	if n, err := strconv.Atoi(text); err == nil && n >= 100 && n < 600 {
		return n
	}
	return springStatuses[text]
}

// springStatuses contains those of Spring's statuses that are errors, including their older
// names. Source: HttpStatus of spring-web. Package net/http, which also has statuses, would
// double the size of the playground.
var springStatuses = map[string]int{
	"BAD_REQUEST": 400, "UNAUTHORIZED": 401, "PAYMENT_REQUIRED": 402, "FORBIDDEN": 403, "NOT_FOUND": 404,
	"METHOD_NOT_ALLOWED": 405, "NOT_ACCEPTABLE": 406, "PROXY_AUTHENTICATION_REQUIRED": 407, "REQUEST_TIMEOUT": 408,
	"CONFLICT": 409, "GONE": 410, "LENGTH_REQUIRED": 411, "PRECONDITION_FAILED": 412,
	"PAYLOAD_TOO_LARGE": 413, "CONTENT_TOO_LARGE": 413, "REQUEST_ENTITY_TOO_LARGE": 413,
	"URI_TOO_LONG": 414, "REQUEST_URI_TOO_LONG": 414, "UNSUPPORTED_MEDIA_TYPE": 415,
	"REQUESTED_RANGE_NOT_SATISFIABLE": 416, "EXPECTATION_FAILED": 417, "I_AM_A_TEAPOT": 418,
	"INSUFFICIENT_SPACE_ON_RESOURCE": 419, "METHOD_FAILURE": 420, "DESTINATION_LOCKED": 421, "MISDIRECTED_REQUEST": 421,
	"UNPROCESSABLE_ENTITY": 422, "UNPROCESSABLE_CONTENT": 422, "LOCKED": 423, "FAILED_DEPENDENCY": 424, "TOO_EARLY": 425,
	"UPGRADE_REQUIRED": 426, "PRECONDITION_REQUIRED": 428, "TOO_MANY_REQUESTS": 429,
	"REQUEST_HEADER_FIELDS_TOO_LARGE": 431, "UNAVAILABLE_FOR_LEGAL_REASONS": 451,
	"INTERNAL_SERVER_ERROR": 500, "NOT_IMPLEMENTED": 501, "BAD_GATEWAY": 502, "SERVICE_UNAVAILABLE": 503,
	"GATEWAY_TIMEOUT": 504, "HTTP_VERSION_NOT_SUPPORTED": 505, "VARIANT_ALSO_NEGOTIATES": 506,
	"INSUFFICIENT_STORAGE": 507, "LOOP_DETECTED": 508, "BANDWIDTH_LIMIT_EXCEEDED": 509, "NOT_EXTENDED": 510,
	"NETWORK_AUTHENTICATION_REQUIRED": 511,
}
