package hotloop

import (
	"context"
	"log"
	"time"
)

type worker struct {
	jobs chan string
	done chan string
}

func handle(job string) error { return nil }

// The next iteration receives what failed.
func (w *worker) putsBack() {
	for job := range w.jobs {
		if err := handle(job); err != nil {
			log.Print(err)
			w.jobs <- job // want `this puts a failed item back at once, so the loop spins while it fails`
			continue
		}
		w.done <- job
	}
}

func putsBackInSelect(ctx context.Context, jobs chan string) {
	for {
		select {
		case <-ctx.Done():
			return
		case job := <-jobs:
			if err := handle(job); err != nil {
				jobs <- job // want `this puts a failed item back at once`
			}
		}
	}
}

func nopePutsBackLater(jobs chan string) {
	for job := range jobs {
		if err := handle(job); err != nil {
			time.Sleep(time.Second)
			jobs <- job
		}
	}
}

func nopePutsBackAndWaits(jobs chan string) {
	for job := range jobs {
		if err := handle(job); err != nil {
			jobs <- job
			time.Sleep(time.Second)
		}
	}
}

// What is not known may wait.
func nopePutsBackAfter(jobs chan string, limit func()) {
	for job := range jobs {
		if err := handle(job); err != nil {
			limit()
			jobs <- job
		}
	}
}

func nopePutsElsewhere(jobs, failed chan string) {
	for job := range jobs {
		if err := handle(job); err != nil {
			failed <- job
		}
	}
}

type task struct {
	name  string
	tries int
}

func nopeCounted(tasks chan *task) {
	for t := range tasks {
		if err := handle(t.name); err != nil {
			if t.tries++; t.tries < 3 {
				tasks <- t
			}
		}
	}
}
