// Package shared connects the breakers and the budgets of processes through a store,
// for policies with shared: store. It needs no runs: see [Link].
package shared
