// Package console serves the pages that people work in: what waits for them, the question with its
// two answers, what became of it, what runs do, and conversations. It decides nothing about runs: a
// form is sent on as the request that the API takes.
//
//	GET  /                      what waits, most urgent first
//	GET  /questions/SUSPENSION  the question, or once it is answered what became of it
//	POST /questions/SUSPENSION  the answer; the browser is then sent to the page of GET
//	GET  /answered              what the person answered lately
//	GET  /bulk?question=…       several questions that ask alike; POST answers them
//	GET  /runs, /runs/RUN       what runs did, and what took how long
//	POST /runs/RUN              pause it, end it, or try it again
//	GET  /chat, /chat/THREAD    talk to an agent; POST sends a message
//	GET  /agents                what each agent may do
//	GET  /operate               how the work goes, in numbers
//	GET  /operate/dead          notices that were given up; POST …/ID attempts one again
//	GET  /live                  what happens meanwhile, for the script of an open page
//	GET  /signin, POST /signin, POST /signout
//	GET  /signin/begin, GET /signed-in: to the identity provider, and back
//
// All of it works without a script; with it, an open page says what is new, and what a model is
// saying.
package console

import (
	"context"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/console/session"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Lists are what pages list. Its contracts are those of [query.Reader].
type Lists interface {
	Inbox(ctx context.Context, c frontend.Caller, q query.List, count bool) (wire.InboxPage, error)
	Runs(ctx context.Context, c frontend.Caller, q query.List) (wire.Page[wire.Run], error)
	Messages(ctx context.Context, c frontend.Caller, thread string, q query.List) (wire.Page[wire.Message], error)
	Decisions(ctx context.Context, c frontend.Caller, q query.DecisionQuery) (wire.DecisionPage, error)
	Agents(ctx context.Context, c frontend.Caller) (wire.Page[wire.Agent], error)
	Startable(ctx context.Context, c frontend.Caller) ([]wire.Agent, error)
}

// Reads is what the pages show. Its contracts are those of [query.Reader].
type Reads interface {
	Lists
	Suspension(ctx context.Context, c frontend.Caller, sus string) (*wire.Approval, *wire.Outcome, error)
	TookBack(ctx context.Context, c frontend.Caller, sus string) (bool, error)
	Run(ctx context.Context, c frontend.Caller, id string) (wire.Run, error)
	Thread(ctx context.Context, c frontend.Caller, id string) (wire.Thread, error)
	FeedStart(ctx context.Context, c frontend.Caller, q query.FeedQuery) (string, error)
}

// Acts is what forms are sent on to. Its contracts are those of [frontend.Frontend].
type Acts interface {
	DecideSuspension(ctx context.Context, c frontend.Caller, sus string, d wire.Decision) (wire.DecisionAnswer, error)
	Withdraw(ctx context.Context, c frontend.Caller, sus, decision string) (wire.DecisionAnswer, error)
	Start(ctx context.Context, c frontend.Caller, key string, req wire.StartRequest) (frontend.Started, error)
	Message(ctx context.Context, c frontend.Caller, thread, key string, req wire.MessageRequest) (frontend.Started, error)
	Cancel(ctx context.Context, c frontend.Caller, run string) (wire.Run, error)
	Interrupt(ctx context.Context, c frontend.Caller, run, key string) (wire.Run, error)
	Retry(ctx context.Context, c frontend.Caller, run, key string) (frontend.Started, error)
}

// Options are what the pages are served with. All but Public, Names, Hold, Streams and Logger are
// required.
type Options struct {
	Reads      Reads
	Acts       Acts
	Bulks      Bulks
	Numbers    Numbers
	Deliveries Deliveries
	Sessions   *session.Desk
	Clock      engine.Clock
	Public     access.PublicURL
	Names      httpapi.Names
	Hold       time.Duration // for how long an answer can be taken back; 0: it is final
	Streams    string        // the address of streams, if that is not the server's own
	Logger     *slog.Logger  // of sign-ins that fail; nil discards
}

// Console is the pages.
type Console struct {
	Options
	pages   *template.Template
	streams string // what the policy of pages lets them talk to beside the server
}

// New makes the pages.
func New(o Options) *Console {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Console{Options: o, pages: drawn(o.Public.Prefix())}
	if at, err := url.Parse(o.Streams); err == nil && at.Host != "" {
		c.streams = " " + at.Scheme + "://" + at.Host
	}
	return c
}

// Name implements [httpapi.Protocol]: decisions by the console are journaled under it.
func (*Console) Name() string { return "console" }

var (
	canSee    = []access.Role{access.Decide, access.Read}
	canDecide = []access.Role{access.Decide}
	canRead   = []access.Role{access.Read}
	canStart  = []access.Role{access.Start}
	canStop   = []access.Role{access.Start, access.Decide}
)

// Routes implements [httpapi.Protocol]. None needs a token: who has signed in is looked up by the
// console.
func (c *Console) Routes() []httpapi.ProtocolRoute {
	get, post := http.MethodGet, http.MethodPost
	return []httpapi.ProtocolRoute{
		{Method: get, Path: "/{$}", Serve: c.forPeople(canSee, c.hears(c.inbox))},
		{Method: get, Path: "/questions/{suspension}", Serve: c.forPeople(canSee, c.hears(c.question))},
		{Method: post, Path: "/questions/{suspension}", Serve: c.forPeople(canDecide, c.answer)},
		{Method: get, Path: "/answered", Serve: c.forPeople(canDecide, c.answered)},
		{Method: get, Path: "/bulk", Serve: c.forPeople(canDecide, c.hears(c.together))},
		{Method: post, Path: "/bulk", Serve: c.forPeople(canDecide, c.answerTogether)},
		{Method: get, Path: "/runs", Serve: c.forPeople(canRead, c.hears(c.runs))},
		{Method: get, Path: "/runs/{run}", Serve: c.forPeople(canRead, c.hears(c.run))},
		{Method: post, Path: "/runs/{run}", Serve: c.forPeople(canStop, c.act)},
		{Method: get, Path: "/chat", Serve: c.forPeople(canRead, c.hears(c.chats))},
		{Method: post, Path: "/chat", Serve: c.forPeople(canStart, c.startChat)},
		{Method: get, Path: "/chat/{thread}", Serve: c.forPeople(canRead, c.hears(c.chat))},
		{Method: post, Path: "/chat/{thread}", Serve: c.forPeople(canStart, c.message)},
		{Method: get, Path: "/agents", Serve: c.forPeople(canRead, c.hears(c.agents))},
		{Method: get, Path: "/operate", Serve: c.forPeople(canOperate, c.operate)},
		{Method: get, Path: "/operate/dead", Serve: c.forPeople(canRedrive, c.dead)},
		{Method: get, Path: "/operate/dead/{id}", Serve: c.forPeople(canRedrive, c.delivery)},
		{Method: post, Path: "/operate/dead/{id}", Serve: c.forPeople(canRedrive, c.redrive)},
		{Method: get, Path: "/live/{run}", Serve: c.forPeople(canRead, c.speech)},
		{Method: get, Path: "/signin", Serve: c.forAnyone(c.signInPage)},
		{Method: post, Path: "/signin", Serve: c.forAnyone(c.signIn)},
		{Method: get, Path: "/signin/begin", Serve: c.forAnyone(c.beginSignIn)},
		{Method: get, Path: session.SignedInPath, Serve: c.forAnyone(c.signedIn)},
		{Method: post, Path: "/signout", Serve: c.forAnyone(c.signOut)},
		{Method: get, Path: "/live", Serve: c.forPeople(canSee, c.live)},
		{Method: get, Path: stylePath, Serve: serveAsset("text/css", style)},
		{Method: get, Path: scriptPath, Serve: serveAsset("text/javascript", script)},
	}
}

// Routes are the routes of the console, for a gateway in front of it. All are public: sessions are
// the console's own.
func Routes() (all []httpapi.RouteInfo) {
	for _, rt := range New(Options{}).Routes() {
		path := rt.Path
		if strings.HasPrefix(path, assets) {
			path = assets + "{file}"
		}
		info := httpapi.RouteInfo{Method: rt.Method, Path: strings.TrimSuffix(path, "{$}"), Part: httpapi.PartPages, Public: true}
		if !slices.Contains(all, info) {
			all = append(all, info)
		}
	}
	return all
}

// View implements [httpapi.Protocol]: the console has no streams yet.
func (*Console) View(url.Values) (httpapi.Viewer, error) {
	return nil, &refusal.Error{Code: problems.CodeNotFound, Detail: "the console has no such stream"}
}

// look is one request of a browser.
type look struct {
	*httpapi.Visit
	session access.Session
	who     access.Principal
	in      bool // someone has signed in, or need not

	question, of, run string // what the page is about: a question and its run, or a run
	stored            string // where what is stored of the answer is shown that the page takes
	speaks            string // the run that is talking on the page
	from              string // where in the feed its script begins
}

// page answers a request of a browser.
type page func(w http.ResponseWriter, l look) error

// forAnyone opens the session and answers.
func (c *Console) forAnyone(serve page) func(http.ResponseWriter, *httpapi.Visit) error {
	return func(w http.ResponseWriter, v *httpapi.Visit) error {
		l := look{Visit: v}
		var err error
		if l.session, err = c.Sessions.Open(w, v.Request); err != nil {
			return err
		}
		if l.who, l.in, err = c.Sessions.Who(v.Context(), l.session); err != nil {
			return err
		}
		if l.in {
			l.Visit = v.As(l.who)
		}
		return serve(w, l)
	}
}

// forPeople sends to the sign-in who has not signed in, and then comes back.
func (c *Console) forPeople(roles []access.Role, serve page) func(http.ResponseWriter, *httpapi.Visit) error {
	return c.forAnyone(func(w http.ResponseWriter, l look) error {
		if !l.in {
			c.seeOther(w, "/signin?"+url.Values{"to": {l.URL.Path}}.Encode())
			return nil
		}
		if err := l.May(roles...); err != nil {
			return c.refuse(w, l, err)
		}
		err := serve(w, l)
		if err != nil {
			return c.refuse(w, l, err)
		}
		return nil
	})
}

// hears draws a page whose script hears everything from before it was read:
//
//	place in the feed ── the page is read ── a question is asked ── the script listens
//	└── the stream begins here: it has that question
func (c *Console) hears(draw page) page {
	return func(w http.ResponseWriter, l look) (err error) {
		if l.from, err = c.Reads.FeedStart(l.Context(), l.Caller(), query.FeedQuery{Tail: true}); err != nil {
			return err
		}
		return draw(w, l)
	}
}

// live streams what happens in the tenant while a page is open: pages ask for nothing again and
// again.
func (*Console) live(w http.ResponseWriter, l look) error { return l.Follow(w) }

// seeOther sends a browser to another page of the console.
func (c *Console) seeOther(w http.ResponseWriter, path string) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Location", c.Public.Prefix()+path)
	w.WriteHeader(http.StatusSeeOther)
}

// stillIn looks at who has signed in once more, behind a body that may have come slowly.
func (c *Console) stillIn(l look) error {
	p, in, err := c.Sessions.Who(l.Context(), l.session)
	if err == nil && (!in || !slices.Equal(p.Roles, l.who.Roles)) {
		err = &refusal.Error{Code: problems.CodeUnauthorized, Detail: "you were signed out while the form was being sent; nothing was stored"}
	}
	return err
}

// refuse draws the page of an error that the person can understand; others go on to the log.
func (c *Console) refuse(w http.ResponseWriter, l look, err error) error {
	e, known := problems.Refused(err)
	if !known {
		return err
	}
	p := problems.Of(e.Code)
	return c.write(w, l, p.Status, "error", errorView{Title: p.Title, Detail: e.Detail, Code: string(e.Code)})
}

type errorView struct{ Title, Detail, Code string }

// Refuse implements [httpapi.Protocol], for errors before anything is known of the person.
func (c *Console) Refuse(w http.ResponseWriter, r *http.Request, p wire.Problem) {
	// an error here means that the client has gone
	_ = c.write(w, look{}, p.Status, "error", errorView{Title: p.Title, Detail: p.Detail, Code: p.Code})
}
