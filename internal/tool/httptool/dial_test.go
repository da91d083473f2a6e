package httptool

import (
	"context"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent"
)

// wait hangs with the test if something does not come; what says which.
func wait(t *testing.T, what string, came <-chan struct{}) {
	t.Helper()
	t.Logf("waiting: %s", what)
	<-came
}

// silent takes connections and says nothing. Each one taken, and each one that the other end has
// closed, is told.
func silent(t *testing.T, taken func()) (address string, closed <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	ends := make(chan struct{}, 100)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				taken()
				_, _ = io.Copy(io.Discard, conn)
				ends <- struct{}{}
			}()
		}
	}()
	return l.Addr().String(), ends
}

// TestAHostThatTakesConnectionsAndSaysNothingKeepsNone: neither one that waits for TLS, nor one
// that waits for an answer.
func TestAHostThatTakesConnectionsAndSaysNothingKeepsNone(t *testing.T) {
	for _, scheme := range []string{"https", "http"} {
		t.Run(scheme, func(t *testing.T) {
			w := newWorld(t)
			address, closed := silent(t, func() { w.clock.Advance(time.Minute) })
			w.routes[publicAddress+":443"], w.routes[publicAddress+":80"] = address, address
			for range 5 {
				out := w.call(strings.Replace(look, "https:", scheme+":", 1), `{"order":"1"}`)
				if !out.Failed || !strings.Contains(out.Text, "within 10s") {
					t.Fatalf("outcome %+v", out)
				}
				wait(t, "the end of the connection", closed)
			}
		})
	}
}

// TestAHostThatDoesNotAnswerIsNotDialledForLongerThanTheCall: nor is its name looked up.
func TestAHostThatDoesNotAnswerIsNotDialledForLongerThanTheCall(t *testing.T) {
	for _, at := range []string{"lookup", "dial"} {
		t.Run(at, func(t *testing.T) {
			w := newWorld(t)
			gaveUp := make(chan struct{}, 1)
			hang := func(ctx context.Context) error {
				w.clock.Advance(time.Minute)
				<-ctx.Done()
				gaveUp <- struct{}{}
				return ctx.Err()
			}
			c := w.callerWith(func(o *Options) {
				if at == "lookup" {
					o.Lookup = func(ctx context.Context, _ string) ([]netip.Addr, error) { return nil, hang(ctx) }
				} else {
					o.Dial = func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) { return nil, hang(ctx) }
				}
			})
			tool, _ := readTool(t, look)
			out, err := c.Tool(tool).Run(t.Context(), requestFor(`{"order":"1"}`))
			if err != nil || !strings.Contains(out.Text, "could not be reached within 10s") {
				t.Fatalf("outcome %+v, %v", out, err)
			}
			wait(t, "the end of the "+at, gaveUp)
		})
	}
}

// TestAConnectionThatIsMadeTooLateIsClosed: the dial did not look at its context.
func TestAConnectionThatIsMadeTooLateIsClosed(t *testing.T) {
	w := newWorld(t)
	address, closed := silent(t, func() {})
	over := make(chan struct{})
	c := w.callerWith(func(o *Options) {
		o.Dial = func(context.Context, netip.AddrPort) (net.Conn, error) {
			w.clock.Advance(time.Minute)
			<-over
			return net.Dial("tcp", address)
		}
	})
	tool, _ := readTool(t, look)
	out, err := c.Tool(tool).Run(t.Context(), requestFor(`{"order":"1"}`))
	close(over)
	if err != nil || !strings.Contains(out.Text, "could not be reached within 10s") {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	wait(t, "the end of the connection", closed)
}

const openSecret = `  - {name: x, http: {allow_private: true, retries: 0, url: "http://shop.internal/x", headers: {Authorization: "Bearer {secret:TOKEN}"}}, parameters: {type: object}}`

func TestASecretInTheClearGoesOnlyWhereTheOperatorAllows(t *testing.T) {
	inQuery := strings.Replace(openSecret, `headers: {Authorization: "Bearer {secret:TOKEN}"}`, `query: {k: "{secret:TOKEN}"}`, 1)
	tests := []struct {
		name, tool string
		operator   []string
		leads      []string
		dialled    string
	}{
		{"a public address, though some network is allowed", openSecret, []string{"10.0.0.0/8"}, []string{publicAddress}, ""},
		{"a public address, in the query", inQuery, []string{"10.0.0.0/8"}, []string{publicAddress}, ""},
		{"a name that is allowed and leads outside", openSecret, []string{"shop.internal"}, []string{publicAddress}, ""},
		{"both, public first", openSecret, []string{"shop.internal"}, []string{publicAddress, "10.0.0.7"}, "10.0.0.7:80"},
		{"a private address", openSecret, []string{"10.0.0.0/8"}, []string{"10.0.0.7"}, "10.0.0.7:80"},
		{"a public address that the operator named", openSecret, []string{publicAddress}, []string{publicAddress}, publicAddress + ":80"},
		{"no secret", strings.Replace(openSecret, `Authorization: "Bearer {secret:TOKEN}"`, "X-None: none", 1), []string{"10.0.0.0/8"}, []string{publicAddress}, publicAddress + ":80"},
		{"not in the clear", strings.Replace(openSecret, "http://", "https://", 1), []string{"10.0.0.0/8"}, []string{publicAddress}, publicAddress + ":443"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.secrets["TOKEN"], w.private, w.names["shop.internal"] = "s3cret-value", tt.operator, tt.leads
			out := w.call(tt.tool, `{}`)
			var dialled string
			for _, a := range w.dialled {
				dialled += a.String()
			}
			if dialled != tt.dialled {
				t.Errorf("dialled %q, outcome %+v", dialled, out)
			}
			if tt.dialled == "" && !strings.Contains(out.Text, "it would send a secret unencrypted") {
				t.Errorf("outcome %+v", out)
			}
		})
	}
}

func TestADeployIsToldOfASecretThatCanOnlyGoInTheClear(t *testing.T) {
	w := newWorld(t)
	w.secrets["TOKEN"], w.private = "s3cret-value", []string{"10.0.0.0/8"}
	for host, lacks := range map[string]bool{publicAddress: true, "10.0.0.7": false, "shop.internal": false} {
		tool, _ := readTool(t, strings.Replace(openSecret, "shop.internal", host, 1))
		if got := w.caller().Lacks(agent.Definition{Name: "desk", Tools: []agent.Tool{tool}}); (len(got) > 0) != lacks {
			t.Errorf("%s: %q", host, got)
		}
	}
}

// TestARedirectBringsNoSecretIntoTheClear: the same host, asked again for a redirect, leads outside
// by then.
func TestARedirectBringsNoSecretIntoTheClear(t *testing.T) {
	w := newWorld(t)
	w.secrets["TOKEN"], w.private, w.names["shop.internal"] = "s3cret-value", []string{"shop.internal"}, []string{"10.0.0.7"}
	w.serve("10.0.0.7:80", redirect(302, "/next"))
	lookups := 0
	c := w.callerWith(func(o *Options) {
		o.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			if lookups++; lookups > 1 {
				return []netip.Addr{netip.MustParseAddr(publicAddress)}, nil
			}
			return w.lookup(ctx, host)
		}
	})
	tool, _ := readTool(t, openSecret)
	out, err := c.Tool(tool).Run(t.Context(), requestFor(`{}`))
	if err != nil || len(w.dialled) != 1 || !strings.Contains(out.Text, "a redirect that is not followed: it would send a secret unencrypted") {
		t.Errorf("outcome %+v, %v, dialled %v", out, err, w.dialled)
	}
}
