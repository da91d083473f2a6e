package suites

import (
	"fmt"
	"time"

	"github.com/dormouse-dev/dormouse/internal/proof/e2e/lambda"
)

const killWithin = 150 * time.Millisecond

// kill lets functions die at random until stop is called, which says what has happened meanwhile.
// It may be called again.
func (t *Target) kill() (stop func() lambda.Counts) {
	if t.Platform == nil {
		return func() lambda.Counts { return lambda.Counts{} }
	}
	service := t.Platform.Lambda
	var names []string
	for id, f := range t.Platform.Stack.Functions {
		if id != "StreamFunction" { // whose reader opens the stream again
			names = append(names, f.Name)
		}
	}
	before := service.Counts()
	service.KillAtRandom(t.Kills, killWithin, names...)
	return func() lambda.Counts {
		service.KillAtRandom(0, 0)
		now := service.Counts()
		return lambda.Counts{Invocations: now.Invocations - before.Invocations, Kills: now.Kills - before.Kills}
	}
}

// checkKills: what holds although functions are killed was shown only if some were.
func (t *Target) checkKills(b *book, since lambda.Counts) {
	if t.Platform == nil || t.Kills == 0 {
		b.say("nothing was killed, as asked for or because the stack runs elsewhere")
		return
	}
	var err error
	if since.Kills == 0 {
		err = fmt.Errorf("of %d invocations not one was killed; play more (--limit, --for), raise --kills, or say --kills 0 for a proof without", since.Invocations)
	}
	b.check("functions were killed", err)
}
