package unboundedretry

import (
	"context"
	"log"
	"net/http"
	"regexp"
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
	for { // want `RL101; named`
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
	for { // want `RL101; named`
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

type verdict int

const (
	fine verdict = iota
	more
	broken
	lost
)

func judge(c caller) verdict {
	if c.Ping() != nil {
		return broken
	}
	return fine
}

func code(c caller) {
	for judge(c) != fine { // missed
		time.Sleep(time.Second)
	}
}

func codeOfFailure(c caller) {
	for { // missed
		switch judge(c) {
		case broken:
			time.Sleep(time.Second)
		default:
			return
		}
	}
}

func cStatus(c caller) (int, string) {
	v, err := c.Call(context.Background(), "k")
	if err != nil {
		log.Print(err)
		return -1, ""
	}
	return 0, v
}

func codeBeside(c caller) string {
	for { // missed
		status, v := cStatus(c)
		if status == 0 {
			return v
		}
		time.Sleep(time.Second)
	}
}

func nopeCodeIsCounted(c caller) {
	for n := 0; judge(c) != fine && n < 5; n++ {
		time.Sleep(time.Second)
	}
}

func step(c caller) verdict {
	v, err := c.Call(context.Background(), "k")
	switch {
	case err != nil:
		return broken
	case v == "more":
		return more
	}
	return fine
}

// It has succeeded, and there is more to do.
func nopeMore(c caller) {
	for step(c) != fine {
		time.Sleep(time.Second)
	}
}

// One code of several: which of them comes next is not known.
func weigh(c caller) verdict {
	if err := c.Ping(); err != nil {
		if err == errBusy {
			return lost
		}
		return broken
	}
	return fine
}

func nopeOneCode(c caller) {
	for weigh(c) == broken {
		time.Sleep(time.Second)
	}
}

// An error is what it waits for.
func nopeUntilBroken(c caller) {
	for judge(c) != broken {
		time.Sleep(time.Second)
	}
}

func sizeOf(c caller) int {
	v, err := c.Call(context.Background(), "k")
	if err != nil {
		return 0
	}
	return len(v)
}

// None is an answer as well.
func nopeNumber(c caller) {
	for sizeOf(c) == 0 {
		time.Sleep(time.Second)
	}
}

// ---- errors that are only told, before the answer is compared ----

func toldThenCompared(c caller) {
	for { // want `retry of Call .*RL101`
		state, err := c.Call(context.Background(), "k")
		if err != nil {
			log.Print(err)
		}
		if state == "running" {
			return
		}
		time.Sleep(time.Second)
	}
}

func toldInCondition(c caller) {
	state := "pending"
	for state != "running" { // want `retry of Call .*RL101`
		var err error
		state, err = c.Call(context.Background(), "k")
		if err != nil {
			log.Print(err)
		}
		time.Sleep(time.Second)
	}
}

func nopeComparedLate(c caller, deadline time.Time) {
	for time.Now().Before(deadline) {
		state, err := c.Call(context.Background(), "k")
		if err != nil {
			log.Print(err)
		}
		if state == "running" {
			return
		}
		time.Sleep(time.Second)
	}
}

func nopeComparedAndUsed(c caller, handle func(string)) {
	for { // want `retry of Call .*RL101; named`
		m, err := c.Call(context.Background(), "k")
		if err != nil {
			log.Print(err)
			time.Sleep(time.Second)
		}
		if m == "last" {
			return
		}
		handle(m)
	}
}

// Nothing is what a failure brings.
func nopeComparedWithNothing(c caller) {
	for { // want `retry of Call .*RL101; named`
		more, err := c.Call(context.Background(), "k")
		if err != nil {
			log.Print(err)
		}
		if more == "" {
			return
		}
		time.Sleep(time.Second)
	}
}

func nopeComparedAndGivenBack(c caller) error {
	for {
		state, err := c.Call(context.Background(), "k")
		if err != nil {
			log.Print(err)
		}
		if state == "given up" {
			return err
		}
		time.Sleep(time.Second)
	}
}

// It does something for as long as it is not the last.
func nopeComparedBeforeWork(c caller, work func() error) {
	for { // want `retry of Call .*RL101; named`
		state, err := c.Call(context.Background(), "k")
		if err != nil {
			log.Print(err)
		}
		if state == "stop" {
			return
		}
		if err := work(); err != nil {
			log.Print(err)
		}
		time.Sleep(time.Second)
	}
}

// ---- what is named as a predicate ----

func isUp(c caller) bool {
	if err := c.Ping(); err != nil {
		log.Printf("ping: %v", err)
		return false
	}
	return true
}

func untilUp(c caller) {
	for !isUp(c) { // missed
		time.Sleep(time.Second)
	}
}

func isLeader(c caller) bool {
	leader, err := c.Call(context.Background(), "leader")
	if err != nil {
		log.Print(err)
		return false
	}
	return leader == "me"
}

// Another may be it for as long as it lives.
func nopeUntilLeader(c caller) {
	for !isLeader(c) {
		time.Sleep(time.Second)
	}
}

func isDown(c caller) bool {
	if err := c.Ping(); err != nil {
		log.Print(err)
		return true
	}
	return false
}

func nopeWhileUp(c caller) {
	for !isDown(c) {
		time.Sleep(time.Second)
	}
}

func (m *machine) isEmpty() bool {
	if len(m.left) > 0 {
		return false
	}
	if err := m.c.Ping(); err != nil {
		log.Print(err)
		return false
	}
	return true
}

func (m *machine) nopeUntilEmpty() {
	for !m.isEmpty() {
		time.Sleep(time.Second)
	}
}

func nopeUpIsCounted(c caller) bool {
	for range 5 {
		if isUp(c) {
			return true
		}
		time.Sleep(time.Second)
	}
	return false
}

// ---- what a call is given to fill ----

type rpc interface {
	Call(method string, args, reply any) error
}

func filledOrNot(c rpc, hash string) *outcome {
	for { // want `retry of Call .*RL101`
		var found *outcome
		err := c.Call("Receipt", hash, &found)
		if err != nil || found == nil {
			time.Sleep(time.Second)
			continue
		}
		return found
	}
}

func filledBefore(c rpc, hash string) *outcome {
	var found *outcome
	for { // want `retry of Call .*RL101`
		if err := c.Call("Receipt", hash, &found); err == nil && found != nil {
			return found
		}
		time.Sleep(time.Second)
	}
}

func nopeFilledIsCounted(c rpc, hash string) *outcome {
	for n := 0; ; n++ {
		var found *outcome
		err := c.Call("Receipt", hash, &found)
		if n < 10 && (err != nil || found == nil) {
			time.Sleep(time.Second)
			continue
		}
		return found
	}
}

func nopeFilledFails(c rpc, hash string) (*outcome, error) {
	for {
		var found *outcome
		if err := c.Call("Receipt", hash, &found); err != nil || found != nil {
			return found, err
		}
		time.Sleep(time.Second)
	}
}

// Each round hands on what came.
func nopeFilledIsUsed(c rpc, handle func(*outcome)) {
	for { // want `retry of Call .*RL101; named`
		var next *outcome
		if err := c.Call("Next", "", &next); err != nil {
			log.Print(err)
			time.Sleep(time.Second)
			continue
		}
		if next == nil {
			return
		}
		handle(next)
	}
}

// Sent is what is retried, though to make the request may fail as well.
func madeAndSent(client *http.Client, url string) *http.Response {
	for ; ; time.Sleep(time.Second) { // want `retry of Do never stops.*RL101`
		req, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			log.Print(err)
			continue
		}
		response, err := client.Do(req)
		if err != nil {
			log.Print(err)
			continue
		}
		return response
	}
}

// What is read from the text of an error tells which one it was.
func byItsText(c caller) error {
	re := regexp.MustCompile(`status=(\d+)`)
	for { // want `RL101`
		err := c.Ping()
		if err == nil {
			return nil
		}
		if match := re.FindStringSubmatch(err.Error()); match != nil && match[1] == "403" {
			return err
		}
		time.Sleep(time.Second)
	}
}
