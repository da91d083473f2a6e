package local

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Times that a caller is given. They are text for the same reason as those of [readTiming].
var (
	headerText = "5s"  // for the header of a request
	bodyText   = "30s" // for its body, from the end of the header on
	// to take an answer; a read is held for at most 20 s of it. A stream sets its own for each
	// event
	answerText = "1m"
)

const (
	keepAlive  = 2 * time.Minute // for the next request of a connection
	maxHeader  = 64 << 10
	mostGuests = 1000 // connections at once
)

// fixed reads a time that the program was built with.
func fixed(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		panic("local: the program was built with a time that is none: " + text)
	}
	return d
}

// webServer bounds what a caller can cost: the time to send and to take, the size of a header, and
// the connections at once. Bodies are bounded where they are read.
//
// There is no ReadTimeout: it would end what reads nothing more, a held read or an open stream, as
// well as a slow body.
func webServer(api http.Handler, log *slog.Logger) *http.Server {
	g := &guests{most: mostGuests, all: map[net.Conn]*guest{}}
	return &http.Server{Handler: g.serve(api, fixed(bodyText)), ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: fixed(headerText), WriteTimeout: fixed(answerText), IdleTimeout: keepAlive, MaxHeaderBytes: maxHeader,
		ConnContext: g.admit, ConnState: g.changed,
		// "OPTIONS *" is answered like any other path that is not there
		DisableGeneralOptionsHandler: true}
}

// guests are the open connections. When there are too many, a new connection is accepted and
// another one is closed, so that a client with many connections cannot shut out others. The server
// closes the one whose next request it has awaited longest, if that is long, and otherwise the one
// whose read-only request has waited longest for its response. A request that may have stored
// something is never cut off before its response.
type guests struct {
	most int

	mu   sync.Mutex
	turn int64 // counts changes: an order without a clock
	all  map[net.Conn]*guest
}

type guest struct {
	conn  net.Conn
	owes  debt
	since int64 // turn of the last change
}

// debt says what a connection waits for.
type debt int

const (
	owesRequest debt = iota // it has not sent all of its next request
	getsRead                // we owe it an answer to something that only reads
	getsAnswer              // we owe it any other answer
)

type guestKey struct{}

// admit is called for each new connection, by the one goroutine that accepts them.
func (g *guests) admit(ctx context.Context, conn net.Conn) context.Context {
	newcomer := &guest{conn: conn}
	if leaving := g.add(newcomer); leaving != nil {
		_ = leaving.conn.Close() // the goroutine that serves it notices
	}
	return context.WithValue(ctx, guestKey{}, newcomer)
}

// add adds a connection and returns the one to close, which may be the new one, or nil.
func (g *guests) add(newcomer *guest) (leaving *guest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.all) >= g.most {
		if leaving = g.least(); leaving == nil {
			return newcomer
		}
		delete(g.all, leaving.conn)
	}
	g.turn++
	newcomer.since = g.turn
	g.all[newcomer.conn] = newcomer
	return leaving
}

// least returns the connection to close. One that owes a request is chosen only after a while: a
// new connection has had no time to send one, and would be closed next if all others must stay.
func (g *guests) least() *guest {
	var slowest, oldest *guest
	for _, one := range g.all {
		if one.owes == owesRequest && (slowest == nil || one.since < slowest.since) {
			slowest = one
		}
		if one.owes != getsAnswer && (oldest == nil || one.since < oldest.since) {
			oldest = one
		}
	}
	if slowest != nil && g.turn-slowest.since > int64(g.most/2) {
		return slowest
	}
	return oldest
}

func (g *guests) changed(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateClosed, http.StateHijacked:
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.all, conn)
	case http.StateIdle:
		g.mu.Lock()
		one := g.all[conn]
		g.mu.Unlock()
		g.note(one, owesRequest)
	}
}

func (g *guests) note(one *guest, owes debt) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if one != nil {
		g.turn++
		one.owes, one.since = owes, g.turn
	}
}

// serve notes what is owed, and gives bodies their time.
func (g *guests) serve(next http.Handler, bodyTime time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		one, _ := r.Context().Value(guestKey{}).(*guest)
		owed := getsAnswer
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			owed = getsRead
		}
		if r.Body == http.NoBody {
			g.note(one, owed)
			next.ServeHTTP(w, r)
			return
		}
		conn := http.NewResponseController(w)
		// on a connection that is gone, reading says so
		_ = conn.SetReadDeadline(time.Now().Add(bodyTime))
		withEnd := *r
		withEnd.Body = &incoming{r.Body, func() {
			_ = conn.SetReadDeadline(time.Time{})
			g.note(one, owed)
		}}
		next.ServeHTTP(w, &withEnd)
	})
}

// incoming is a body that says when it has been read to its end.
type incoming struct {
	io.ReadCloser
	whole func()
}

func (b *incoming) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.whole()
	}
	return n, err
}
