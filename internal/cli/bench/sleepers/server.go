package sleepers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/cli/bench/served"
)

// server is a process that serves a store, and its caller.
type server struct {
	*served.Server
	api  *client.Client
	took time.Duration // from the start of the process to its first page of the inbox
}

// start starts a server, and returns once it answers.
func (b *bench) start(ctx context.Context, p served.Place) (*server, error) {
	process, err := served.Start(ctx, b.Program, p, b.model.addr)
	if err != nil {
		return nil, err
	}
	s := &server{Server: process, api: client.New(process.URL, client.WithToken(token), client.WithRetries(0), client.WithHTTPClient(process.Web))}
	if _, err := s.page(ctx, ""); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	s.took = time.Since(process.Began)
	return s, nil
}

// pageSize is how many runs a page of the inbox has.
const pageSize = 10

// page reads a page of the inbox, and returns the cursor of the next one.
func (s *server) page(ctx context.Context, cursor string) (next string, err error) {
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/v1/approvals?"+query.Encode(), nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := s.Web.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var page struct {
		Items []json.RawMessage
		Next  string
	}
	if err := json.NewDecoder(answer.Body).Decode(&page); err != nil || answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("a page of the inbox: %s, %w", answer.Status, err)
	}
	io.Copy(io.Discard, answer.Body)
	return page.Next, nil
}
