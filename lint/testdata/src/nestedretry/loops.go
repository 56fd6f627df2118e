package nestedretry

import (
	"errors"
	"net/http"
	"time"
)

// ---- loops in one function ----

func twoLoops(url string) (resp *http.Response, err error) {
	for range 5 { // want `5 attempts in this loop of 4 of Get in the inner one are 20 calls: retry in one loop \(RL401\)`
		for try := 1; try <= 4; try++ {
			if resp, err = http.Get(url); err == nil {
				return resp, nil
			}
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
	}
	return nil, err
}

func nopeSmallLoops(url string) (resp *http.Response, err error) {
	for range 3 {
		for range 4 {
			if resp, err = http.Get(url); err == nil {
				return resp, nil
			}
			time.Sleep(time.Second)
		}
	}
	return nil, err
}

// Each server is asked four times.
func nopeServers(servers []string) (resp *http.Response, err error) {
	for _, s := range servers {
		for range 4 {
			if resp, err = http.Get(s); err == nil {
				return resp, nil
			}
			time.Sleep(time.Second)
		}
	}
	return nil, err
}

// ---- helpers ----

func five(op func() error) (err error) {
	for range 5 {
		if err = op(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func upTo(attempts int, op func() error) (err error) {
	for i := 0; i < attempts; i++ {
		if err = op(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func get(url string) error {
	_, err := http.Get(url)
	return err
}

func helperInHelper(url string) error {
	return five(func() error { // want `5 attempts of the function literal in helperInHelper, which makes 4 at .* are 20 calls: retry in one place \(RL401\)`
		return upTo(4, func() error { return get(url) })
	})
}

func loopAroundHelper(url string) (err error) {
	for range 5 { // want `5 attempts of helped, which makes 5 at .*, are 25 calls: retry in one place \(RL401\)`
		if err = helped(url); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func helped(url string) error { return five(func() error { return get(url) }) }

func nopeFewInHelper(url string) error {
	return five(func() error {
		return upTo(2, func() error { return get(url) })
	})
}

var errDown = errors.New("down")

// The loop may end when the helper is exhausted.
func selective(url string) (err error) {
	for range 5 { // want `RL401; named`
		if err = helped(url); err == nil || !errors.Is(err, errDown) {
			return err
		}
		time.Sleep(time.Second)
	}
	return err
}
