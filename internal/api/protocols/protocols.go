// Package protocols lets stock clients talk to agents in their own protocols. Each one reads what
// the client sends, asks package frontend as the API does, and shows the run through a projection.
// The journal is the only source of what a conversation holds; what a client says of it is never
// believed.
package protocols

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Runs is what the protocols do to runs. Its contracts are those of [frontend.Frontend].
type Runs interface {
	Start(ctx context.Context, c frontend.Caller, key string, req wire.StartRequest) (frontend.Started, error)
	StartPushed(ctx context.Context, c frontend.Caller, key string, req wire.StartRequest, group string) (frontend.Started, error)
	Message(ctx context.Context, c frontend.Caller, thread, key string, req wire.MessageRequest) (frontend.Started, error)
	MessageKept(ctx context.Context, c frontend.Caller, thread, key string, req wire.MessageRequest) (frontend.Started, error)
	Decide(ctx context.Context, c frontend.Caller, run string, d wire.Decision) (wire.DecisionAnswer, error)
	Retry(ctx context.Context, c frontend.Caller, run, key string) (frontend.Started, error)
	Cancel(ctx context.Context, c frontend.Caller, run string) (wire.Run, error)
	ThreadByKey(ctx context.Context, c frontend.Caller, key string) (wire.Thread, error)
}

// Server is what the protocols are served with.
type Server struct {
	Runs    Runs
	Reads   Reads
	Inbox   Inbox
	Pushes  Pushes // of A2A; nil: the server sends none
	Clock   engine.Clock
	Version string // of the program

	// Public is where clients reach the server; the zero value: where they say they do.
	Public access.PublicURL

	// Auth is the scheme of the Authorization header that callers need, such as [Bearer];
	// empty: none.
	Auth string

	// Issuers are the authorization servers where callers get a token by OAuth. None: the
	// operator hands tokens out.
	Issuers []string

	// Keys sign what clients hand back. Nil: it is not signed, and says no more than which run
	// is meant.
	Keys access.LinkSource
}

// Bearer is the scheme of tokens, as OAuth has them.
const Bearer = "Bearer"

// All are the protocols that the server speaks beside its API.
func All(s Server) []httpapi.Protocol {
	return []httpapi.Protocol{AISDK{s.Runs, s.Reads}, AGUI{s.Runs, s.Reads}, CopilotKit{AGUI{s.Runs, s.Reads}, s.Reads}, A2A{s}, MCP{s}}
}

// Routes are the routes of all protocols, for a gateway in front of a server that takes tokens. The
// gateway passes on what older clients of MCP try as well: they know by the server's 405 to go on
// without streams and sessions.
func Routes() (all []httpapi.RouteInfo) {
	for _, p := range All(Server{Auth: Bearer}) {
		for _, rt := range p.Routes() {
			all = append(all, httpapi.RouteInfo{Method: rt.Method, Path: rt.Path, Part: httpapi.PartRuns, Public: len(rt.Roles) == 0})
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		all = append(all, httpapi.RouteInfo{Method: method, Path: mcpPath, Part: httpapi.PartRuns})
	}
	return all
}

// inTime is how long a request may wait: as on AWS, it may have to be answered sooner.
func inTime(ctx context.Context, longest time.Duration) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return max(0, min(longest, time.Until(deadline)-answerTime))
	}
	return longest
}

// answerTime is left of a request, after it has waited, to answer it.
const answerTime = time.Second

func number(about url.Values, name string) (int, error) {
	if about.Get(name) == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(about.Get(name))
	if err != nil || n < 0 {
		return 0, refusal.New(refusal.CodeInvalid, "%s must be a number, from 0", name)
	}
	return n, nil
}
