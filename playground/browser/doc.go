// Package browser tests the playground in a browser. It is a module of its own, because a
// driver of browsers is nothing that programs with the playground need.
package browser
