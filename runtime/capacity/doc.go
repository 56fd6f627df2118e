// Package capacity provides three limits that keep callers from overloading a service:
//
//   - A [Limiter] limits how many attempts are in progress at the same time.
//   - A [Rate] limits how many attempts start in a period.
//   - A [Throttle] refuses a share of the attempts while the service is failing.
//
// A [Gate] combines the limits of one policy and checks them in a fixed order.
package capacity
