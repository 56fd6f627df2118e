package policy

import (
	"fmt"

	"github.com/retrygen/retrygen/internal/syntax"
)

// A policy that was read from another file is judged where it is written there.
func ExampleCheckDocument() {
	longest := syntax.Text("500ms")
	longest.Place(syntax.Span{Line: 7, Col: 15, Width: 4})
	root := syntax.Map(
		syntax.Entry{Key: "version", Value: syntax.Int(1)},
		syntax.Entry{Key: "policies", Value: syntax.Map(
			syntax.Entry{Key: "fetch", Value: syntax.Map(syntax.Entry{Key: "max_delay", Value: longest})},
		)},
	)
	root.Place(syntax.Span{Line: 1, Col: 1, Width: 1})
	for _, p := range CheckDocument("config.json", root) {
		fmt.Printf("%s:%d:%d: %s\n", p.File, p.Line, p.Col, p.Rule)
	}
	// Output: config.json:7:15: P201
}
