// Package capacity has three limits that keep callers from overloading a service:
//
//   - A [Limiter] limits how many attempts are in progress at a time.
//   - A [Rate] limits how many attempts start in a period.
//   - A [Throttle] refuses a share of the attempts while the service fails.
//
// A [Gate] combines the limits of one policy and asks them in a fixed order.
package capacity
