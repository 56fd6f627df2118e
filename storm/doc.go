// Package storm simulates services, and clients that call them under retry policies,
// during a disturbance such as a loss of capacity. It answers two questions: does the
// system recover after the disturbance, and how much load do the retries add in the
// meantime?
//
// The decisions about a call are made by the same code as in production. Like a generated
// wrapper, a simulated call asks [retry.Policy.Decide], a [breaker.Model], a
// [budget.Budget] and package capacity, but with the time of the simulation. Only the
// network, the services and the users are models.
//
// The data flows as follows:
//
//	policy.File ─Default→ System ─┐
//	scenario    ─Read───→ System ─┴Simulate→ Run for each seed ─→ Result ─Verdict, Reason→ text, JSON, charts
//
// A [System] is plain data: [Service]s, [Load]s and [Event]s. [Simulate] executes it once
// for each seed. A [Run] contains the measurements for each second, and a [Result]
// summarizes the runs. The package does no I/O. All its functions are deterministic. The
// same system and seed result in the same run on every machine.
//
// # Services
//
// A service has workers and a single queue. If a worker is idle, a request is served at
// once. Otherwise, it waits in the queue. If the queue is full, the request is refused
// with status 503, which the caller receives after a millisecond. Requests are served in
// the order of their arrival by any idle worker, so load is balanced perfectly.
//
// A request occupies a worker for a random time. Then the service calls other services,
// and the worker becomes idle when these calls have ended. If one of the calls fails, the
// request fails with status 503.
//
// By default, a service continues to serve requests whose callers are gone. A service
// with Notices drops such a request instead of serving it, and ends the calls that it is
// making for the request. It never interrupts a worker.
//
// # Not modeled
//
// The network takes no time and loses nothing. There are no connection pools, caches,
// garbage collections, autoscaling, health checks or load balancing policies. In the
// simulation, hedges make no second requests. In production, they add at most the share
// of load that their policy allows.
package storm
