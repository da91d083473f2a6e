// Package bodies reads the bodies of requests: strictly, and never more of them at once than there
// is memory for.
package bodies

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/text/strictjson"
)

const (
	Max = 1 << 20 // bytes of a body

	// allBodies bounds the bytes of bodies that are being read and checked at once, of all
	// callers; smallBody is what each may send regardless.
	allBodies = 32 << 20
	smallBody = 16 << 10

	checkWait = time.Second // for a large body to be checked
)

// inFlight counts the bytes of bodies that are being read and checked. It is one for the process,
// as its memory is.
var inFlight atomic.Int64

// checking is held while a large body is checked: a text can be many times its size in memory for
// that while.
var checking = make(chan struct{}, 2)

// Read reads one JSON object into to, strictly: what is ambiguous or not understood is refused,
// never guessed.
func Read(w http.ResponseWriter, r *http.Request, to any) error {
	raw, err := Raw(w, r)
	if err != nil {
		return err
	}
	return Decode(raw, to)
}

// ReadOptional is Read for a request that may come without one.
func ReadOptional(w http.ResponseWriter, r *http.Request, to any) error {
	if r.ContentLength == 0 {
		return nil
	}
	return Read(w, r, to)
}

func Raw(w http.ResponseWriter, r *http.Request) (json.RawMessage, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" && !(strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")) {
		return nil, &refusal.Error{Code: problems.CodeMediaType, Detail: "the body has another media type; send it as application/json"}
	}
	raw, err := ReadAll(http.MaxBytesReader(w, r.Body, Max))
	return raw, Crowded(err)
}

// Crowded words that too many bodies are being read, and leaves any other error as it is.
func Crowded(err error) error {
	if !errors.Is(err, errCrowded) {
		return err
	}
	return &refusal.Error{Code: refusal.CodeUnavailable, RetryAfter: time.Second,
		Detail: "the server is receiving too many large bodies; nothing was stored, so send the same request again"}
}

// ReadAll reads a body and checks it. A large one is refused while too many others are at that:
// those who send slowly, and many at once, would else decide how much memory is used, and how long
// others wait.
func ReadAll(r io.Reader) (json.RawMessage, error) {
	raw, done, err := ReadUnchecked(r)
	defer done()
	if err != nil {
		return nil, err
	}
	if len(raw) <= smallBody {
		return raw, CheckJSON(raw)
	}
	select {
	case checking <- struct{}{}:
		defer func() { <-checking }()
		return raw, CheckJSON(raw)
	case <-time.After(checkWait):
		return nil, errCrowded
	}
}

// ReadUnchecked reads a body as it is. The body counts among those in flight until done is called.
func ReadUnchecked(r io.Reader) (raw []byte, done func(), err error) {
	counted := &countedReader{r: r}
	done = func() { inFlight.Add(-int64(counted.n)) }
	if raw, err = io.ReadAll(counted); err != nil {
		return nil, done, Unreadable(err)
	}
	return raw, done, nil
}

// Unreadable says why a body could not be read to its end.
func Unreadable(err error) error {
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return &refusal.Error{Code: problems.CodeTooLarge, Detail: fmt.Sprintf("the body is larger than the limit of %d bytes", Max)}
	case errors.Is(err, errCrowded), errors.As(err, new(*refusal.Error)):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Malformed("the body arrived too slowly; send it again without pauses")
	}
	return Malformed("the body ended early; send all of it again")
}

var errCrowded = errors.New("bodies: too many bodies are being read")

type countedReader struct {
	r io.Reader
	n int
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	if inFlight.Add(int64(n)) > allBodies && c.n > smallBody {
		return n, errCrowded
	}
	return n, err
}

func Malformed(format string, args ...any) *refusal.Error {
	return &refusal.Error{Code: problems.CodeMalformed, Detail: fmt.Sprintf(format, args...)}
}

// Clipped is a caller's text, short enough to be shown in an answer.
func Clipped(text string) string { return strictjson.Clipped(text) }

// CheckJSON demands one JSON object in UTF-8 that is not nested too deep and in which no object,
// however deep, has a member twice.
func CheckJSON(raw []byte) error {
	return unread(strictjson.Check(raw))
}

// Decode reads an object into the struct behind to. Members are matched exactly, case
// included.
func Decode(raw json.RawMessage, to any) error { return unread(strictjson.Decode(raw, to)) }

// unread words what the strict reader refuses for the caller.
func unread(err error) error {
	var e *strictjson.Error
	if errors.As(err, &e) {
		return &refusal.Error{Code: refusal.Code(e.Code), Detail: e.Detail}
	}
	return err
}
