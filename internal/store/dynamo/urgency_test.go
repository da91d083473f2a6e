package dynamo_test

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

func TestUrgency(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		enginetest.TestUrgency(t, func(t *testing.T) (enginetest.Store, enginetest.Urgent) {
			store := s.on(t, nil)
			return store, query.Windows(store, "acme", 1000)
		})
	})
}
