package local

import (
	"context"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/console"
	"github.com/dormouse-dev/dormouse/internal/api/console/session"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bounds"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/bulk"
	"github.com/dormouse-dev/dormouse/internal/frontend/ops"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/webhooks"
	"github.com/dormouse-dev/dormouse/internal/machine"
)

// console is the pages of this server, for those who hold its tokens; where it has none, for
// everyone whom it lets in.
func (o Options) console(reads *query.Reader, acts *frontend.Frontend, deliveries *webhooks.Desk, keys access.LinkKeys, known *tokens, ended session.Ended) httpapi.Protocol {
	desk := &session.Desk{Clock: o.clock, Random: machine.Random{}, Public: o.PublicURL, Guesses: bounds.NewGuesses(),
		Signing: func(context.Context, time.Duration) (access.LinkKeys, error) { return keys, nil }}
	if desk.Anyone = known == nil; !desk.Anyone {
		desk.Tokens, desk.Ended, desk.Accounts = known, ended, o.accounts()
	}
	return console.New(console.Options{Reads: reads, Acts: acts, Bulks: bulk.New(acts), Numbers: ops.New(acts, deliveries), Deliveries: deliveries, Sessions: desk, Clock: o.clock, Public: o.PublicURL, Names: o.Names, Hold: o.Limits.Hold, Logger: o.Logger})
}
