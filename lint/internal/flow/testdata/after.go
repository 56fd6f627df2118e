// Package after has loops with a call of op. The comments say whether op is executed again
// after it has failed, and after it has succeeded.
package after

type client struct {
	conn *int
	done bool
}

type failure struct{}

func (failure) Error() string { return "failure" }

func op() error           { return nil }
func dial() (*int, error) { return nil, nil }
func other() error        { return nil }
func effect()             {}
func choose() bool        { return len("x") > 1 }
func wrap(err error) error {
	if err == nil {
		return nil
	}
	return failure{}
}
func check(err error) {
	if err != nil {
		panic(err)
	}
}
func failed(err error) bool { return err != nil }

// failed: again, passed: leaves
func plain() {
	for op() != nil {
	}
}

// failed: leaves, passed: again
func stopsAtFailure() error {
	for {
		if err := op(); err != nil {
			return err
		}
	}
}

// failed: again, passed: again
func ignores() {
	for {
		op()
	}
}

// failed: again, passed: leaves
func throughFunctions() {
	for {
		err := wrap(op())
		if !failed(err) {
			return
		}
	}
}

// failed: leaves, passed: again
func throughPanic() {
	for {
		check(op())
		effect()
	}
}

// failed: again, passed: leaves
func variable() (err error) {
	defer func() { effect() }()
	for {
		err = op()
		if err == nil {
			return nil
		}
	}
}

// failed: again, passed: leaves
func captured() {
	var err error
	func() {
		if err != nil {
			effect()
		}
	}()
	for {
		err = op()
		if err == nil {
			break
		}
	}
}

// The second failure returns: that is a bound, and op is executed again once.
//
// failed: again, passed: leaves
func flag() error {
	retrying := false
	for {
		err := op()
		if err == nil {
			return nil
		}
		if retrying {
			return err
		}
		retrying = true
	}
}

// failed: again, passed: leaves
func condition() *int {
	var conn *int
	for conn == nil {
		conn, _ = dial()
	}
	return conn
}

// failed: again, passed: leaves
func field(c *client) {
	for c.conn == nil {
		conn, err := dial()
		if err == nil {
			c.conn = conn
		}
	}
}

// A call between the store and the load may write to the field.
//
// failed: again, passed: again
func fieldLost(c *client) {
	for c.conn == nil {
		conn, err := dial()
		if err == nil {
			c.conn = conn
		}
		effect()
	}
}

// failed: again, passed: leaves
func gotoLoop() {
again:
	err := op()
	if err != nil {
		effect()
		goto again
	}
}

// failed: again, passed: again
func joint() {
	for {
		if op() != nil {
			continue
		}
		if other() != nil {
			continue
		}
		return
	}
}

// failed: again, passed: again
func answer() {
	for {
		if err := op(); err != nil || choose() {
			continue
		}
		return
	}
}

// failed: again, passed: leaves
func lastError() error {
	var last error
	for i := 0; i < 3; i++ {
		last = op()
		if last == nil {
			break
		}
	}
	return last
}

// failed: leaves, passed: leaves
func both() {
	for choose() {
		if op() != nil {
			break
		}
		if other() == nil {
			return
		}
		check(failure{})
	}
}

// failed: leaves, passed: again
func asserted() {
	for {
		err := op()
		if _, ok := err.(failure); ok {
			return
		}
		if err != nil {
			return
		}
	}
}

// No error is of no type.
//
// failed: again, passed: leaves
func assertedAlone() {
	for {
		if _, ok := op().(failure); !ok {
			return
		}
	}
}

// The flag is set before the second execution: what it guards is executed then.
//
// failed: again, passed: leaves
func notFirst() {
	first := true
	for {
		if !first {
			effect()
		}
		first = false
		if op() == nil {
			return
		}
	}
}
