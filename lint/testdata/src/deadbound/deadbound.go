package deadbound

import (
	"log"
	"os/exec"
	"time"
)

type caller interface{ Ping() error }

func frozen(c caller) {
	for err := c.Ping(); err != nil; { // want `this loop never assigns the error in its condition: repeat the call in the loop, and limit the attempts \(RL105`
		log.Print(err)
	}
}

func shadowed(c caller) {
	err := c.Ping()
	for err != nil { // want `RL105`
		err := c.Ping()
		log.Print(err)
	}
}

func nopeAssigned(c caller) {
	for err, attempt := c.Ping(), 0; err != nil && attempt < 5; err = c.Ping() {
		log.Print(err)
		attempt++
	}
}

func otherWayOut(c caller) {
	for err := c.Ping(); err != nil; { // want `retry of Ping .*RL101`
		if c.Ping() == nil {
			return
		}
	}
}

func nopeShared(c caller, err error, later func(*error)) {
	later(&err)
	for err != nil {
		log.Print("waiting")
	}
}

// The command is made anew for each attempt, of the same.
func stepsOver(volume string) error {
	for tries := 5; tries != 0; tries -= 2 { // want `retry of Run .*RL101, RL105; library`
		if err := exec.Command("format", volume).Run(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return exec.ErrNotFound
}

func nopeMeets(volume string) (err error) {
	for tries := 6; tries != 0; tries -= 2 {
		if err = exec.Command("format", volume).Run(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

// Each round is about another volume.
func nopeVolumes(volumes []string) (err error) {
	for i := 5; i != -1; i -= 2 {
		if err = exec.Command("format", volumes[i]).Run(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

// It comes around.
func nopeWraps(volume string) (err error) {
	for tries := uint8(1); tries != 0; tries += 3 {
		if err = exec.Command("format", volume).Run(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}
