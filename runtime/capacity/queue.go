package capacity

import "time"

// A waiter is an attempt that waits to be admitted.
type waiter struct {
	answer     chan bool     // receives true if the attempt is admitted, false if it has waited too long
	until      time.Duration // when it has waited too long, since the begin of a Limiter
	slot       int64         // that a Rate has given it
	prev, next *waiter
}

// A queue has the attempts that wait, the oldest first. The lock of its owner protects
// it.
//
// All of them share one timer, which exists only while the queue is not empty. So a
// wait allocates no timer of its own, and no timer of a testing/synctest bubble is left
// when the bubble ends.
type queue struct {
	first, last *waiter
	len         int
	timer       *time.Timer
}

// push appends an attempt.
func (q *queue) push(until time.Duration) *waiter {
	w := &waiter{answer: make(chan bool, 1), until: until, prev: q.last}
	if q.last == nil {
		q.first = w
	} else {
		q.last.next = w
	}
	q.last = w
	q.len++
	return w
}

// remove removes an attempt, and reports whether it was in the queue.
func (q *queue) remove(w *waiter) bool {
	if w.prev == nil && q.first != w {
		return false
	}
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
	q.len--
	if q.len == 0 && q.timer != nil {
		q.timer.Stop()
		q.timer = nil
	}
	return true
}

// pop removes the oldest attempt and gives it an answer.
func (q *queue) pop(admitted bool) {
	w := q.first
	q.remove(w)
	w.answer <- admitted
}

// wake sets the timer of a queue that is not empty: f is called after d, in a goroutine
// of its own. f may also be called after the queue has been emptied and filled again.
func (q *queue) wake(d time.Duration, f func()) {
	if q.timer == nil {
		q.timer = time.AfterFunc(d, f)
		return
	}
	q.timer.Reset(d)
}
