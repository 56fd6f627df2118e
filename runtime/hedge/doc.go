// Package hedge makes a second, identical request if the first one takes long, and
// uses the answer that comes first. That cuts the slowest answers of a service whose
// durations vary: see Dean and Barroso, "The Tail at Scale" (CACM, 2013).
package hedge
