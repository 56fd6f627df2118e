package results

import (
	"fmt"
	"io"
	"strings"

	"github.com/retrygen/retrygen/internal/spelling"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/storm"
)

// Explain describes a policy of a file, what its calls share, and its groups. parallel is the
// number of runs of the default storm at a time. If it is 0, nothing is simulated.
func Explain(w io.Writer, f *policy.File, p *policy.Policy, parallel int) {
	p.Explain(w, f.Name)
	f.ExplainSteps(w, p)
	f.ExplainCapacity(w, f.Name, p)
	for i := range f.Breakers {
		if b := &f.Breakers[i]; b.Name == p.Breaker {
			fmt.Fprintln(w)
			b.Explain(w, f.Name)
		}
	}
	if parallel > 0 {
		explainStorm(w, f, p, parallel)
	}
	f.ExplainGroups(w, f.Name, p.Name)
	f.ExplainClients(w, p)
}

// explainStorm writes what the retries of a policy do in the first default storm of the
// command simulate. A policy without retries adds nothing to the load.
func explainStorm(w io.Writer, f *policy.File, p *policy.Policy, parallel int) {
	client, ok := storm.ClientOf(f, p.Name)
	if !ok || p.MaxAttempts == 1 {
		return
	}
	result, err := storm.Preview(client, parallel)
	if err != nil {
		return // it takes longer than a description may
	}
	v := result.Verdicts[0]
	fmt.Fprintf(w, "\nin %d runs of the default storm %s: %s, up to %.2f × the load\n"+
		"(retrygen simulate %s tries all default storms, and says why)\n",
		len(result.Runs), result.System.Name, v.Text(), v.Amplification(), p.Name)
}

// UnknownPolicy returns the error for a name that no policy of a file has. what says what the
// name is, such as "no policy".
func UnknownPolicy(name, what string, f *policy.File) error {
	var names []string
	for _, p := range f.Policies {
		names = append(names, p.Name)
	}
	hint := fmt.Sprintf("%s has %s", f.Name, strings.Join(names[:min(len(names), 10)], ", "))
	if near := spelling.Nearest(name, names); near != "" {
		hint = spelling.Question(near)
	}
	return fmt.Errorf("%q is %s of %s: %s", name, what, f.Name, hint)
}
