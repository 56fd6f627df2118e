// Package capacity has what keeps callers from overloading a service: a [Limiter]
// bounds how many attempts are in progress, a [Rate] how many start in a time, and a
// [Throttle] refuses a share of them while the service fails. A [Gate] asks
// the limits of one policy in a fixed order.
package capacity
