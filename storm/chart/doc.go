// Package chart draws the results of package storm: as one SVG image, and as an HTML page
// that refers to no other file. Both follow the light or dark theme of the reader. The
// colors come from the palette of Okabe and Ito, which color-blind readers can distinguish,
// and each line has its name at its end.
package chart

import "github.com/retrygen/retrygen/storm"

// A Page is a document with the results of several simulations.
type Page struct {
	Title    string
	Sections []Section
}

// A Section is one simulation.
type Section struct {
	Title   string   // such as "read, storm capacity"
	Group   string   // sections of one group have axes of the same length, to compare them
	Verdict string   // such as "recovers after 25s"
	Good    bool     // the verdict is a good one
	Why     []string // sentences
	System  []string // what was assumed, a line each
	Result  *storm.Result
}
