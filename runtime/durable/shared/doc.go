// Package shared connects the breakers and the budgets of several processes through a
// store, for policies with shared: store. It is for calls that do not belong to a run:
// see [Link].
package shared
