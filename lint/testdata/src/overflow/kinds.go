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

// A number is computed at each of its uses: here 5 to the power of 13 times.
func nopeOften(c client) (err error) {
	for a := range 5 {
		if err = c.Ping(); err == nil {
			return nil
		}
		b := max(a, a, a, a, a)
		d := max(b, b, b, b, b)
		e := max(d, d, d, d, d)
		f := max(e, e, e, e, e)
		g := max(f, f, f, f, f)
		h := max(g, g, g, g, g)
		i := max(h, h, h, h, h)
		j := max(i, i, i, i, i)
		k := max(j, j, j, j, j)
		l := max(k, k, k, k, k)
		m := max(l, l, l, l, l)
		n := max(m, m, m, m, m)
		time.Sleep(time.Duration(max(n, n, n, n, n)) * time.Second)
	}
	return err
}
