// Package chart draws the results of package storm's simulations, as a single SVG image
// or as a self-contained HTML page. Both follow the reader's light or dark theme. The
// colors come from the palette of Okabe and Ito, which color-blind readers can
// distinguish. Each line is labeled at its end.
package chart

import "github.com/retrygen/retrygen/storm"

// A Page is a document with the results of several simulations.
type Page struct {
	Title    string
	Sections []Section
}

// A Section is one simulation.
type Section struct {
	Title   string   // title, such as "read, storm capacity"
	Group   string   // sections in the same group have axes of the same length, for comparison
	Verdict string   // verdict, such as "recovers after 25s"
	Good    bool     // whether the verdict is a good one
	Why     []string // sentences that explain the verdict
	System  []string // the assumptions, one per line
	Result  *storm.Result
}
