package gateway

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/dormouse-dev/dormouse/internal/proof/e2e/stack"
)

// URL is the address of one function.
type URL struct {
	Stack  *stack.Stack
	URL    stack.FunctionURL
	Invoke Invoker
	Now    func() time.Time
	Logger *slog.Logger
}

// streamed is the content type of an answer that begins with a prelude: status and headers as JSON,
// and eight zero bytes.
const streamed = "application/vnd.awslambda.http-integration-response"

func (u *URL) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if preflight(w, r, u.URL.CORS) {
		return
	}
	allowOrigin(w, r, u.URL.CORS)
	if u.URL.IAM {
		// the runtime's is open; if that changes, this must learn it
		refuse(w, http.StatusForbidden, "Forbidden")
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, mostEvent+1))
	if err != nil {
		return // the caller is gone
	}
	e := newEvent(r, body, u.Now())
	e.RequestContext.AccountID, e.RequestContext.APIID = "anonymous", u.URL.ID
	raw, err := json.Marshal(e)
	if err != nil || len(raw) > mostEvent {
		refuse(w, http.StatusRequestEntityTooLarge, "Request Entity Too Large")
		return
	}
	contentType, answer, err := u.Invoke(r.Context(), u.Stack.Functions[u.URL.Function].Name, raw)
	if err != nil {
		u.Logger.Info("no answer", "url", u.URL.ID, "error", err)
		refuse(w, http.StatusBadGateway, "Internal Server Error")
		return
	}
	defer answer.Close()
	if err := u.pass(w, contentType, answer); err != nil {
		u.Logger.Info("an answer broke off", "url", u.URL.ID, "error", err)
		panic(http.ErrAbortHandler) // so that the reader sees it, too
	}
}

// pass writes the answer, as it comes if it streams.
func (u *URL) pass(w http.ResponseWriter, contentType string, answer io.Reader) error {
	if contentType != streamed {
		raw, err := io.ReadAll(answer)
		if err == nil && !writeAnswer(w, raw) {
			err = errors.New("not an answer")
		}
		return err
	}
	in := bufio.NewReader(answer)
	prelude, err := readPrelude(in)
	if err != nil {
		return err
	}
	var head response
	if err := json.Unmarshal(prelude, &head); err != nil {
		return fmt.Errorf("the prelude: %w", err)
	}
	head.head(w)
	flush := http.NewResponseController(w)
	buffer := make([]byte, 32<<10)
	for {
		_ = flush.Flush() // of a writer that cannot, everything comes at the end
		n, err := in.Read(buffer)
		if _, gone := w.Write(buffer[:n]); gone != nil {
			return nil // the reader went away, which is no fault
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

const mostPrelude = 64 << 10

// readPrelude reads up to the eight zero bytes and takes them away.
func readPrelude(in *bufio.Reader) ([]byte, error) {
	var prelude []byte
	for len(prelude) < mostPrelude {
		b, err := in.ReadByte()
		if err != nil {
			return nil, fmt.Errorf("the prelude ends early: %w", err)
		}
		prelude = append(prelude, b)
		if bytes.HasSuffix(prelude, make([]byte, 8)) {
			return prelude[:len(prelude)-8], nil
		}
	}
	return nil, errors.New("the prelude is too long")
}
