package enginetest

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// Random is engine.Random from a seed: the same seed, the same texts. It is safe for concurrent
// use.
type Random struct {
	mu  sync.Mutex
	rng *rand.Rand
}

// NewRandom returns a source whose seed is printed if the test fails.
func NewRandom(t testing.TB, seed uint64) *Random {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed of this test: %d", seed)
		}
	})
	return &Random{rng: rand.New(rand.NewPCG(seed, seed))}
}

// Text returns n characters of a-z2-7.
func (r *Random) Text(n int) string {
	const alphabet = "abcdefghijklmnopqrstuvwxyz234567"
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]byte, n)
	for i := range out {
		out[i] = alphabet[r.rng.IntN(len(alphabet))]
	}
	return string(out)
}
