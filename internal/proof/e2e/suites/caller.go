package suites

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/client"
)

// caller sends calls to one server and remembers what they gave.
type caller struct {
	url, token string
	public     bool // the server knows its public address, and names it in Location
	cli        *Target
	vars       map[string]string
	names      *names
}

// do sends one call and returns the answer, with ids and times replaced.
func (c *caller) do(ctx context.Context, one call) (string, error) {
	if one.settle != "" {
		if err := c.settle(ctx, one.settle); err != nil {
			return "", err
		}
	}
	head, body, err := c.send(ctx, one)
	if err != nil {
		return "", err
	}
	for name, path := range one.take {
		value, err := at(body, path)
		if err != nil {
			return "", fmt.Errorf("%s: %w in %s%s", one.name, err, head, body)
		}
		c.vars[name] = value
	}
	return head + c.names.replaced(pretty(body)), nil
}

func (c *caller) filled(text string) string {
	for name, value := range c.vars {
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	return text
}

// settle waits until a run rests; with a ! behind its name, until it is done.
func (c *caller) settle(ctx context.Context, name string) error {
	name, done := strings.CutSuffix(name, "!")
	api := client.New(c.url, client.WithToken(c.token), client.WithHTTPClient(&http.Client{Timeout: requestLimit}), client.WithRetries(0))
	return until(ctx, patience, func() error {
		run, err := api.PollRun(ctx, c.vars[name], held)
		if err == nil && run.Status != "done" && (done || run.Status != "waiting") {
			err = fmt.Errorf("run %s is %s", run.ID, run.Status)
		}
		return err
	})
}

// compared are the headers that both must have alike.
var compared = []string{"Content-Type", "Location", "Cache-Control", "Preference-Applied", "Retry-After"}

func (c *caller) send(ctx context.Context, one call) (head, body string, err error) {
	if one.args != nil {
		return c.run(ctx, one.args)
	}
	req, err := http.NewRequestWithContext(ctx, one.method, c.url+c.filled(one.path), strings.NewReader(c.filled(one.body)))
	if err != nil {
		return "", "", err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Accept", "application/json")
	if one.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if one.key != "" {
		req.Header.Set("Idempotency-Key", fmt.Sprintf("%s-%d", one.key, c.cli.Seed))
	}
	resp, err := (&http.Client{Timeout: requestLimit}).Do(req)
	if err != nil {
		return "", "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	head = strconv.Itoa(resp.StatusCode) + "\n"
	for _, name := range compared {
		if value := resp.Header.Get(name); value != "" {
			if name == "Location" && c.public {
				if value, err = belowHost(value); err != nil {
					return "", "", err
				}
			}
			head += name + ": " + c.names.replaced(value) + "\n"
		}
	}
	return head, string(raw), err
}

// belowHost is what a full address has behind its host.
func belowHost(address string) (string, error) {
	u, err := url.Parse(address)
	if err == nil && u.Host == "" {
		err = fmt.Errorf("%s is no full address", address)
	}
	if err != nil {
		return "", err
	}
	return u.RequestURI(), nil
}

// run lets the program make the call. Its exit code is part of the answer.
func (c *caller) run(ctx context.Context, args []string) (head, body string, err error) {
	filled := make([]string, len(args))
	for i, a := range args {
		filled[i] = c.filled(a)
	}
	cmd := exec.CommandContext(ctx, c.cli.CLI, filled...)
	cmd.Env = append(os.Environ(), "DORMOUSE_URL="+c.url, "DORMOUSE_TOKEN="+c.token)
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		return "", "", err
	}
	return "exit " + strconv.Itoa(cmd.ProcessState.ExitCode()) + "\n", string(out), nil
}

// at is the text at a path of members and positions.
func at(body, path string) (string, error) {
	var v any
	if err := json.NewDecoder(strings.NewReader(body)).Decode(&v); err != nil {
		return "", err
	}
	for part := range strings.SplitSeq(path, ".") {
		switch here := v.(type) {
		case map[string]any:
			v = here[part]
		case []any:
			n, err := strconv.Atoi(part)
			if err != nil || n >= len(here) {
				return "", fmt.Errorf("there is no %s", path)
			}
			v = here[n]
		}
	}
	text, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("there is no text at %s", path)
	}
	return text, nil
}

// pretty lays JSON out one value a line, so that a difference is small. Anything else stays as it
// is.
func pretty(body string) string {
	var out strings.Builder
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	for {
		var v any
		err := d.Decode(&v)
		if err == io.EOF {
			return out.String()
		}
		if err != nil {
			return body
		}
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		_ = e.Encode(v) // it came out of JSON
	}
}

// names gives each id a number of its own, in the order they are first seen, so that two servers
// can be compared.
type names struct {
	seen map[string]string
}

func newNames() *names { return &names{seen: map[string]string{}} }

// What is each server's own: ids, times, and what is made of them. The digest of a decision and
// the fingerprint of a question are over the suspension's id.
var (
	timePattern = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	idPattern   = regexp.MustCompile(`\b(run|thr|thread|sus|call|dec|evt|msg|req)_[A-Za-z0-9_-]{8,}`)
	linkPattern = regexp.MustCompile(`/v1/approvals/[A-Za-z0-9_.-]+`)
	urlPattern  = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	logBytes    = regexp.MustCompile(`(?m)^ *"log_bytes": \d+,?\n`) // a table has no log
	memberTimes = regexp.MustCompile(`"(version|request_id|cursor|next|updated_at|digest|fingerprint|latency_ms|first_token_ms)": ("[^"]+"|\d+)`)
)

func (n *names) replaced(text string) string {
	text = timePattern.ReplaceAllString(text, "TIME")
	text = urlPattern.ReplaceAllString(text, "URL")
	text = linkPattern.ReplaceAllString(text, "LINK")
	text = logBytes.ReplaceAllString(text, "")
	text = memberTimes.ReplaceAllString(text, `"$1": OWN`)
	return idPattern.ReplaceAllStringFunc(text, func(id string) string {
		if n.seen[id] == "" {
			kind, _, _ := strings.Cut(id, "_")
			n.seen[id] = fmt.Sprintf("%s#%d", kind, len(n.seen)+1)
		}
		return n.seen[id]
	})
}
