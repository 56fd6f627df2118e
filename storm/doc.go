// Package storm simulates a system of services, and the calls that clients make to them
// under retry policies, through a disturbance such as a loss of capacity. It answers two
// questions: does the system recover when the disturbance has passed, and how much load
// do retries add meanwhile?
//
// Package retry decides about a call: a simulated call asks [retry.Policy.Decide], a
// [breaker.Model], a [budget.Budget] and package capacity as a generated wrapper does, with
// the time of the simulation. Only the network, the services and the users are models.
//
// Data takes this path:
//
//	policy.File ─Default→ System ─┐
//	scenario    ─Read───→ System ─┴Simulate→ Run for each seed ─→ Result ─Verdict, Reason→ text, JSON, charts
//
// A [System] is plain data: [Service]s, [Load]s and [Event]s. [Simulate] executes it once
// for each seed. A [Run] has what happened in each second, and a [Result] summarizes the
// runs. The package does no I/O. All of its functions are deterministic: the same system
// and seed give the same run on every machine.
//
// # Services
//
// A service has workers and one queue. A request that finds a worker idle is served at
// once, another one waits, and if the queue is full it is refused with the status 503. A
// refusal is an answer: the caller gets it after a millisecond. Requests are served in the
// order of their arrival, by any idle worker: load is balanced perfectly. A request takes
// a random time of a worker, then the service calls other services, and the worker is
// idle again when these calls have ended. If one of them fails, the request fails with
// the status 503.
//
// A service works on for callers that have gone, unless it notices. Then it drops their
// requests instead of serving them, and ends the calls that it makes for them. It never
// interrupts the time of a worker.
//
// # Not modelled
//
// The network takes no time and loses nothing. There are no connection pools, caches,
// garbage collections, autoscaling, health checks, or policies of load balancing. Hedges make
// no second requests: they add at most the share of load that their policy allows.
package storm
