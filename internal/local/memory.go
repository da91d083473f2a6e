package local

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/machine"
)

const (
	lookPeriod = 3 * time.Second
	idleMemory = 8 << 20 // that may lie about
)

// leanMemory returns memory to the system once a burst is over. The runtime does so too, but only
// after its next collection, and a server with nothing to do makes none for minutes.
func leanMemory(ctx context.Context) {
	var m memory
	for engine.Sleep(ctx, machine.Clock{}, lookPeriod) == nil {
		held, collections := heap()
		if m.look(held, collections) {
			runtime.GC() // pools of buffers let go of them at the second
			debug.FreeOSMemory()
			m.left, m.collections = heap()
		}
	}
}

// memory is what was seen of the heap.
type memory struct {
	left        uint64 // bytes after memory was returned the last time
	collections uint64
}

// look says whether to return memory: nothing was collected since the last look, so that a burst is
// over, and much has come since memory was returned.
func (m *memory) look(held, collections uint64) bool {
	idle := collections == m.collections
	m.collections = collections
	return idle && held > m.left+idleMemory
}

// heap is how many bytes of it are held, in use or not, and how often it was collected.
func heap() (held, collections uint64) {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() + samples[1].Value.Uint64() + samples[2].Value.Uint64(), samples[3].Value.Uint64()
}
