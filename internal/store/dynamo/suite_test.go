package dynamo_test

import (
	"flag"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery/linestest"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest/linktest"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/pushes"
	"github.com/dormouse-dev/dormouse/internal/frontend/pushes/pushestest"
	"github.com/dormouse-dev/dormouse/internal/frontend/webhooks"
	"github.com/dormouse-dev/dormouse/internal/frontend/webhooks/webhookstest"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

var seed = flag.Uint64("seed", 0, "seed of what is random in these tests; 0 for the usual one")

var (
	_ frontend.Store   = (*dynamo.Store)(nil)
	_ frontend.Catalog = (*dynamo.Store)(nil)
)

func TestStore(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		enginetest.TestStore(t, func(t *testing.T) enginetest.Store { return s.on(t, nil) })
	})
}

func TestLinks(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		linktest.Test(t, func(t *testing.T) linktest.Store { return s.on(t, nil) })
	})
}

func TestLines(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		linestest.Test(t, func(t *testing.T, b notice.Bound) linestest.Store { return s.bounded(t, b) })
	})
}

func TestWebhooks(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		webhookstest.Test(t, func(t *testing.T) webhooks.Store { return s.on(t, nil) })
	})
}

func TestPushes(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		pushestest.Test(t, func(t *testing.T) pushes.Store { return s.on(t, nil) })
	})
}

func TestPosted(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) { enginetest.TestPosted(t, s.on(t, nil)) })
}
