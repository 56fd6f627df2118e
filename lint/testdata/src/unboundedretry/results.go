package unboundedretry

import (
	"log"
	"time"
)

// ---- errors that are a part of what is returned, or made into something else ----

type outcome struct {
	text string
	err  error
}

func run(c caller) outcome {
	err := c.Ping()
	return outcome{"done", err}
}

func partOfStruct(c caller) string {
	for { // want `retry of run .*RL101`
		r := run(c)
		if r.err == nil {
			return r.text
		}
		log.Print(r.err)
		time.Sleep(time.Second)
	}
}

type machine struct {
	c    caller
	left []outcome
}

func (m *machine) run() (r outcome) {
	r.err = m.c.Ping()
	return r
}

func (m *machine) partOfVariable() {
	var r outcome
	for { // want `retry of run .*RL101`
		r = m.run()
		if r.err != nil {
			time.Sleep(time.Second)
			continue
		}
		break
	}
	log.Print(r.text)
}

func (m *machine) nopePartIsCounted() outcome {
	for n := 1; ; n++ {
		r := m.run()
		if r.err == nil || n == 5 {
			return r
		}
		time.Sleep(time.Second)
	}
}

func (m *machine) next() outcome {
	r := m.left[0]
	m.left = m.left[1:]
	return r
}

// The next of them may be better.
func (m *machine) nopePartOfNext() string {
	for {
		r := m.next()
		if r.err == nil {
			return r.text
		}
		log.Print(r.err)
	}
}

func nopeNextOfAnother(results interface{ Next() outcome }) string {
	for {
		r := results.Next()
		if r.err == nil {
			return r.text
		}
	}
}

func received(results <-chan outcome) outcome { return <-results }

func (m *machine) nopePartIsReceived(results <-chan outcome) string {
	for {
		r := received(results)
		if r.err == nil {
			return r.text
		}
	}
}

// Something else decides what is left of the error.
func nopePartIsReplaced(c caller, accept func(*outcome)) string {
	for {
		r := run(c)
		accept(&r)
		if r.err == nil {
			return r.text
		}
		time.Sleep(time.Second)
	}
}

func nopePartEnds(c caller, more func(outcome) bool) string {
	for {
		r := run(c)
		if r.err == nil || !more(r) {
			return r.text
		}
		time.Sleep(time.Second)
	}
}
