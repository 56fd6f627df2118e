package unboundedretry

// reserve is implemented in assembly.
func reserve(name string) error

func (d *device) reset() error

func ends() {
	for reserve("tty") != nil { // want `retry of reserve .*RL101`
	}
}

func resets(d *device) {
	for { // want `retry of reset .*RL101`
		if err := d.reset(); err == nil {
			return
		}
	}
}
