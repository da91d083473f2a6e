//go:build race

package sim

// pull is [iter.Pull] with a goroutine and two channels: under the race detector the runtime keeps
// some 20 kB of every coroutine that has ended, and a simulation makes millions of them.
func pull(seq func(yield func(struct{}) bool)) (next func() (struct{}, bool), stop func()) {
	turn, parked := make(chan bool), make(chan bool)
	begun, over := false, false
	var panicked any
	yield := func(struct{}) bool {
		parked <- true
		return <-turn
	}
	run := func() {
		defer func() {
			panicked = recover()
			over = true
			parked <- false
		}()
		if <-turn {
			seq(yield)
		}
	}
	give := func(on bool) bool {
		if over {
			return false
		}
		if !begun {
			begun = true
			go run()
		}
		turn <- on
		more := <-parked
		if panicked != nil {
			p := panicked
			panicked = nil
			panic(p)
		}
		return more
	}
	return func() (v struct{}, ok bool) { return v, give(true) }, func() { give(false) }
}
