package sleepers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/client"
)

// server is a process that serves a store, and its caller.
type server struct {
	cmd  *exec.Cmd
	log  *strings.Builder
	url  string
	web  *http.Client
	api  *client.Client
	took time.Duration // from the start of the process to its first page of the inbox
}

// start starts a server, and returns once it answers.
func (b *bench) start(ctx context.Context, p place) (*server, error) {
	args := append(b.Program[1:len(b.Program):len(b.Program)], "dev", "--json", "--watch=false", "--strict", "--addr", "127.0.0.1:0",
		"--agents", p.agents(), "--data", p.data(), "--tokens", p.tokens(), "--allow-private-hosts", b.model.addr)
	s := &server{cmd: exec.CommandContext(ctx, b.Program[0], args...), log: new(strings.Builder), web: &http.Client{}}
	s.cmd.Stderr = s.log
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(os.Interrupt) }
	s.cmd.WaitDelay = 20 * time.Second
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	var started struct{ URL string }
	lines := bufio.NewReader(out)
	if line, err := lines.ReadBytes('\n'); err != nil || json.Unmarshal(line, &started) != nil {
		return nil, errors.Join(fmt.Errorf("the server did not start: %s", s.log), s.stop())
	}
	s.url = started.URL
	s.api = client.New(s.url, client.WithToken(token), client.WithRetries(0), client.WithHTTPClient(s.web))
	if _, err := s.page(ctx, ""); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	s.took = time.Since(began)
	return s, nil
}

// stop asks the server to stop, and waits until it has.
func (s *server) stop() error {
	s.web.CloseIdleConnections()
	if s.cmd.Process.Signal(os.Interrupt) != nil { // not every system can
		s.cmd.Process.Kill()
	}
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("the server: %w: %s", err, s.log)
	}
	return nil
}

// pageSize is how many runs a page of the inbox has.
const pageSize = 10

// page reads a page of the inbox, and returns the cursor of the next one.
func (s *server) page(ctx context.Context, cursor string) (next string, err error) {
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/v1/approvals?"+query.Encode(), nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := s.web.Do(r)
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

// memory returns the resident memory of the server in bytes; 0 where it is not known.
func (s *server) memory() float64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	for line := range strings.Lines(string(status)) {
		if kilobytes, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.ParseFloat(strings.Fields(kilobytes)[0], 64)
			return n * 1024
		}
	}
	return 0
}
