package awsenv

import (
	"context"
	"fmt"
	"io"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// Front is what the functions are made of that answer callers.
type Front struct {
	parts
	Frontend *frontend.Frontend
}

// NewFront makes it. It describes and checks agents and runs nothing, so it has neither models nor
// bodies. Lines of the log and of metrics go to out. It asks no server anything.
func NewFront(s Settings, register Register, out io.Writer) (Front, error) {
	if s.Access.Auth == "" {
		return Front{}, fmt.Errorf("DORMOUSE_AUTH is missing; set it to JWT or IAM, as the authorizer in front of the function is")
	}
	p, err := open(s, register, nil, out)
	return Front{parts: p, Frontend: p.frontend()}, err
}

// frontend has nothing that watches the table: a held read looks again by itself.
func (p parts) frontend() *frontend.Frontend {
	return frontend.New(frontend.Options{Store: p.Store, Links: p.Store, Catalog: p.Store, Waker: p.Wake, Clock: p.Clock, Random: p.Random,
		Describe: p.Agents.Describe, Tool: p.Agents.Tool, Check: p.Agents.Check, Starters: p.Agents.Starters, Narrow: p.Agents.Narrow})
}

// LinkKeys are the keys that sign approval links and tickets of streams, the same in every function
// of the stack. They are made when they are asked for first. It asks the table;
// [engine.ErrUnavailable] if that cannot be done now.
func (f Front) LinkKeys(ctx context.Context) (access.LinkKeys, error) { return f.Store.LinkKeys(ctx) }
