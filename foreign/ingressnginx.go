package foreign

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
)

// ingressNginxKind is the kind for the annotations of ingress-nginx 1.15. Sources:
// kubernetes/ingress-nginx, internal/ingress/annotations/proxy, and its configuration for the
// defaults.
var ingressNginxKind = Kind{
	Name: "ingress-nginx", Title: "annotations of ingress-nginx",
	recognize: func(doc *syntax.Node) bool {
		return isResource(doc, "networking.k8s.io", "Ingress") && slices.ContainsFunc(
			at(at(doc, "metadata"), "annotations").Entries,
			func(e syntax.Entry) bool { return strings.HasPrefix(e.Key, ingressPrefix+"proxy-next-upstream") })
	},
	decode: decodeIngressNginx,
}

const ingressPrefix = "nginx.ingress.kubernetes.io/"

var ingressWords = words{
	"max_attempts": "proxy-next-upstream-tries", nginxConditions: "proxy-next-upstream",
	"max_elapsed": "proxy-next-upstream-timeout", "attempt_timeout": "proxy-read-timeout",
	nginxOpens: "proxy-connect-timeout", nginxSends: "proxy-send-timeout",
}

func decodeIngressNginx(d *decoder, doc *value) {
	meta := doc.get("metadata")
	name := meta.get("name").text()
	doc.skipOthers("metadata")
	meta.skipOthers("annotations")
	a := meta.get("annotations")
	a.skipOthers() // annotations for other programs
	u := nextUpstream{
		at: a, words: ingressWords, format: in(time.Second), server: "ingress-nginx", attempts: 3,
		partial:   true, // its ConfigMap has the defaults
		ioTimeout: time.Minute, openTimeout: 5 * time.Second,
		conditions: d.annotation(a, nginxConditions, nil),
		tries:      d.annotation(a, "max_attempts", wholeNumber),
		limit:      d.annotation(a, "max_elapsed", wholeNumber),
		read:       d.annotation(a, "attempt_timeout", wholeNumber),
		opens:      d.annotation(a, nginxOpens, wholeNumber),
		sends:      d.annotation(a, nginxSends, wholeNumber),
	}
	p := d.nginxPolicy(name, u)
	p.Binds = []string{"Ingress/" + name}
}

var wholeNumber = regexp.MustCompile(`^[+-]?\d+$`)

// annotation returns an annotation, or nil if there is none that ingress-nginx reads.
func (d *decoder) annotation(a *value, field rules.Field, form *regexp.Regexp) *value {
	v := a.get(ingressPrefix + ingressWords[field])
	switch {
	case v == nil || isOpenValue(v) || v.n.IsMap() || v.n.IsList():
		return v
	case !isText(v.n):
		v.mistake("P102", "Kubernetes refuses %s as an annotation, which is a text: write %q", v.n.Text, v.n.Text)
	case form != nil && !form.MatchString(v.n.Text):
		v.mistake("P102", "ingress-nginx ignores %s %s, which is no whole number: write seconds without a unit",
			ingressWords[field], syntax.Quote(v.n.Text))
		return nil
	}
	v.key = ingressWords[field]
	return v
}
