package local

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// headroom is how much the heap of a small server may grow between two collections. The runtime
// lets a heap double, and that of most servers is so small that it would be collected many times a
// second.
const headroom = 32 << 20

// journals is how many bytes of journals a server keeps for the next steps. It is enough for a run
// of 30,000 steps with results of 2 KB; a thread beyond it is read again at each step.
const journals = 128 << 20

// collector adapts the collector of the process while servers run in it.
type collector struct {
	mu      sync.Mutex
	servers int
	before  int // the percentage before the first of them
	percent int
}

var theCollector collector

// rareCollections leaves the headroom until ctx ends. It respects the environment variable GOGC.
func rareCollections(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	theCollector.count(1)
	<-ctx.Done()
	theCollector.count(-1)
}

func (c *collector) count(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.servers += n
	switch {
	case n > 0 && c.servers == 1:
		c.percent = growth(inUse())
		c.before = debug.SetGCPercent(c.percent)
		c.await()
	case c.servers == 0:
		debug.SetGCPercent(c.before)
	}
}

// cycle is garbage from the beginning, so that its finalizer runs after the next collection.
type cycle struct{ of *collector }

func (c *collector) await() { runtime.SetFinalizer(&cycle{c}, func(one *cycle) { one.of.collected() }) }

// collected makes a heap that has become large grow as any other again.
func (c *collector) collected() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.servers == 0 {
		return
	}
	if percent := growth(inUse()); percent != c.percent {
		c.percent = percent
		debug.SetGCPercent(percent)
	}
	c.await()
}

// growth returns how much a heap may grow until the next collection, in percent. It has few values,
// because setting one stops the process for a moment.
func growth(live uint64) int {
	const usual, most, step = 100, 400, 50
	return int(min(most, max(usual, usual*headroom/max(live, 1)/step*step)))
}

// inUse is what the last collection left, in bytes.
func inUse() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
