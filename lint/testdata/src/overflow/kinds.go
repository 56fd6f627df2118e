package overflow

import (
	"math/rand"
	"time"
)

// What is given to a call besides numbers is not compared with them.

func nopeKinds(c client, quick bool, name string) (err error) {
	far, label, z := quick && name == "far", "a", 1i
	if name == "near" {
		far, label, z = false, "b", 2i
	}
	for attempt := 0; attempt < 5; attempt++ {
		if err = c.Ping(); err == nil {
			return nil
		}
		time.Sleep(pause(far, label, z, attempt))
		time.Sleep(min(time.Duration(attempt), time.Duration(real(z))*time.Second))
		far, label, z = !far, label+"c", z*2
	}
	return err
}

func pause(far bool, label string, z complex128, attempt int) time.Duration {
	if far == (label < "c") && z != 1i && attempt > 1 {
		return time.Duration(rand.Int63n(int64(time.Second)))
	}
	return time.Duration(len(label)) * time.Second
}

func nopeEitherBool(c client, name string) (err error) {
	far := false
	if name == "near" {
		far = true
	}
	for range 5 {
		if err = c.Ping(); err == nil {
			return nil
		}
		time.Sleep(pause(far, "", 0, 1))
	}
	return err
}
