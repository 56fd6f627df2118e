package console

import (
	"bytes"
	"sync"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/storm"
	"github.com/retrygen/retrygen/storm/chart"
)

// storms has the pictures of what policies do in the default storm. A simulation takes up
// to some seconds, so that there is one at a time, and each picture is drawn once. The zero
// storms has none.
type storms struct {
	mu       sync.Mutex
	pictures map[*policy.Policy]picture
}

// A picture is an SVG image, or why there is none.
type picture struct {
	svg []byte
	err error
}

// picture returns the picture of a policy of a file, as SVG.
func (s *storms) picture(f *policy.File, p *policy.Policy) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	drawn, ok := s.pictures[p]
	if !ok {
		drawn.svg, drawn.err = stormPicture(f, p)
		if s.pictures == nil {
			s.pictures = map[*policy.Policy]picture{}
		}
		s.pictures[p] = drawn
	}
	return drawn.svg, drawn.err
}

// stormPicture simulates the default storm of a policy, and draws it.
func stormPicture(f *policy.File, p *policy.Policy) ([]byte, error) {
	client, _ := storm.ClientOf(f, p.Name)
	result, err := storm.Preview(client, 1)
	if err != nil {
		return nil, err
	}
	sys, v := result.System, &result.Verdicts[0]
	page := chart.Page{Title: "policy " + p.Name + " in the default storm", Sections: []chart.Section{{
		Title: p.Name + ", storm " + sys.Name, Verdict: v.Text(), Good: v.Recovered() == len(v.Outcomes),
		Why: []string{result.Reason(0)}, System: sys.Describe(), Result: result,
	}}}
	var b bytes.Buffer
	err = page.SVG(&b)
	return b.Bytes(), err
}
