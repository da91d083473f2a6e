package httpapi_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// showing is a protocol that shows the types of the events of a run, and how its stream ended.
type showing struct{ starting }

func (showing) Name() string { return "showing" }

func (showing) Routes() []httpapi.ProtocolRoute {
	return []httpapi.ProtocolRoute{{Method: http.MethodGet, Path: "/showing/{run}", Roles: []access.Role{access.Read},
		Serve: func(w http.ResponseWriter, v *httpapi.Visit) error { return v.Show(w, v.PathValue("run"), nil) }}}
}

func (showing) View(url.Values) (httpapi.Viewer, error) { return &shownTypes{}, nil }

type shownTypes struct{ over bool }

func (*shownTypes) Header(http.Header) {}

func (*shownTypes) Push(e wire.Event) ([]byte, error) { return []byte(e.Type + "\n"), nil }

func (s *shownTypes) Rest() []byte {
	s.over = true
	return []byte("rest\n")
}

func (*shownTypes) Break() []byte { return []byte("break\n") }

func (s *shownTypes) Over() bool { return s.over }

// While a run below works, a response goes on although another one asks. At the end of its time,
// what is asked is shown, so that it can be answered.
func TestAResponseWhoseTimeIsUpEndsWithWhatIsAsked(t *testing.T) {
	const life = 7 * time.Minute
	for name, c := range map[string]struct {
		asks  []string // of two runs below
		ends  string
		early bool
	}{
		"none asks": {nil, "break", false},
		"one asks":  {[]string{"a"}, "rest", false},
		"both ask":  {[]string{"a", "b"}, "rest", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, settings{options: func(o *httpapi.Options) { o.Limits.StreamLife, o.Protocols = life, []httpapi.Protocol{showing{}} }})
			root := s.start().ID
			below := s.worker.Launch(root, agentCall("a"), agentCall("b"))
			for _, call := range c.asks {
				s.worker.Suspend(below[call], approval("c"))
			}
			began := s.worker.Clock.Now()
			got := s.shownBy(t, "/showing/"+root)
			if took := s.worker.Clock.Now().Sub(began); !strings.HasSuffix(got, c.ends+"\n") || (took < life) != c.early || took > 2*life {
				t.Errorf("after %v:\n%s", took, got)
			}
		})
	}
}

// never is a viewer that waits for what does not come.
type never struct{ showing }

func (never) View(url.Values) (httpapi.Viewer, error) { return &shownNever{}, nil }

type shownNever struct{ shownTypes }

func (*shownNever) Rest() []byte { return nil }

// Behind the end of its run, a viewer that waits for more is told that there is none: a reader may
// name any view in the address of a stream.
func TestAResponseEndsBehindItsRun(t *testing.T) {
	s := newServer(t, settings{options: func(o *httpapi.Options) {
		o.Limits.StreamLife, o.Protocols = time.Hour, []httpapi.Protocol{never{}}
	}})
	run := s.start().ID
	s.worker.Finish(run, "bye")
	if got := s.shownBy(t, "/showing/"+run); !strings.HasSuffix(got, "break\n") || strings.Contains(got, "nothing yet") {
		t.Errorf("%s", got)
	}
}

// shownBy reads a whole stream of a protocol, which the API's document doesn't have.
func (s *server) shownBy(t *testing.T, path string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
