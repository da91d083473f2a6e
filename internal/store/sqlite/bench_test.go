package sqlite_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

// BenchmarkStart measures durable starts, each with its wake-up, by callers at once.
func BenchmarkStart(b *testing.B) {
	for _, callers := range []int{1, 8} { // times GOMAXPROCS
		b.Run(fmt.Sprint("callers=", callers), func(b *testing.B) {
			db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"),
				sqlite.Options{Clock: enginetest.AtMilli(1000), Random: enginetest.NewRandom(b, 1)})
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			var n atomic.Int64
			b.SetParallelism(callers)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					req := engine.StartRequest{Head: newHead(fmt.Sprint("thr_", n.Add(1))), Due: 6000, Wake: &engine.Delay{}}
					if _, err := db.Start(b.Context(), req); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(db.Stats().Operations)/float64(db.Stats().Commits), "operations/commit")
		})
	}
}
