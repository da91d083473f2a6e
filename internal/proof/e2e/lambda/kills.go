package lambda

import (
	"math/rand/v2"
	"sync"
	"time"
)

// kills decides by a seed which invocations do not end by themselves.
type kills struct {
	mu       sync.Mutex
	random   *rand.Rand
	chance   float64
	within   time.Duration
	function map[string]bool
}

// KillAtRandom lets, from now on, so many of the invocations of these functions die by SIGKILL, at
// a random moment within a time after they began; one that has ended by then lives. A chance of 0
// stops that. What the operating system makes of it is not repeatable.
func (s *Service) KillAtRandom(chance float64, within time.Duration, functions ...string) {
	k := &s.kills
	k.mu.Lock()
	defer k.mu.Unlock()
	k.chance, k.within, k.function = chance, within, map[string]bool{}
	for _, f := range functions {
		k.function[f] = true
	}
}

// fate says when this invocation is to die.
func (k *kills) fate(function string) (after time.Duration, dies bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.chance == 0 || !k.function[function] || k.random.Float64() >= k.chance {
		return 0, false
	}
	return time.Duration(k.random.Int64N(int64(k.within) + 1)), true
}

// Kill kills every process of a function at once, busy or not, and returns how many there were.
func (s *Service) Kill(function string) int {
	s.mu.Lock()
	p := s.functions[function]
	s.mu.Unlock()
	if p == nil {
		return 0
	}
	return p.killAll()
}
