//go:build !race

package sim

import "iter"

// pull makes a coroutine of seq: see [iter.Pull].
func pull(seq func(yield func(struct{}) bool)) (next func() (struct{}, bool), stop func()) {
	return iter.Pull(seq)
}
