//go:build linux

package hostile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/proof/effort"
)

// Times are of the machine's [pace].
const (
	healthTime  = time.Second      // within which /healthz answers, whatever else happens
	moreMemory  = 100 << 20        // that an attack may leave behind
	moreSockets = 1                // that may be left: the last one that health was asked on
	recoverTime = 20 * time.Second // for all of that to be so
	// after which a caller that got neither an answer nor a close complains
	callTime = 8 * time.Second
)

// attacked serves all attacks of a test, and holds after each, and meanwhile, what must hold.
type attacked struct {
	*server
	codes map[string]int // of the problems, to their statuses
	http  *http.Client
	conns []net.Conn // see dial
}

const hostileAgents = `
name: waits
model:
  provider: scripted
  turns:
    - given: {no_result: true}
      calls: [{tool: %s, arguments: {text: hello}}]
    - say: Done.
tools:
  - {name: locate, description: Runs elsewhere., client: true}
  - name: speak
    description: Says something.
    recorded: [{result: said}]
permissions: {ask: [speak], allow: [locate]}
`

func attack(t *testing.T) *attacked {
	t.Helper()
	return attackOn(t, binary)
}

// attackInHaste attacks a server that gives slow senders and readers little time.
func attackInHaste(t *testing.T) *attacked {
	t.Helper()
	return attackOn(t, hasty)
}

func attackOn(t *testing.T, program string) *attacked {
	t.Helper()
	effort.Long(t, "it starts and attacks whole processes")
	client := fmt.Sprintf(hostileAgents, "locate")
	person := strings.Replace(fmt.Sprintf(hostileAgents, "speak"), "name: waits", "name: asks", 1)
	return &attacked{server: serve(t, program, map[string]string{"waits": client, "asks": person}), codes: tableOfCodes(t),
		http: &http.Client{Transport: within{&http.Transport{MaxIdleConnsPerHost: 4}, callTime},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// tableOfCodes reads the page of problems, which is generated from the table.
func tableOfCodes(t *testing.T) map[string]int {
	t.Helper()
	page, err := os.ReadFile("../../../docs/reference/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]int{}
	for _, row := range regexp.MustCompile("(?m)^\\|([0-9]+)\\|`([a-z_]+)`").FindAllStringSubmatch(string(page), -1) {
		codes[row[2]], _ = strconv.Atoi(row[1])
	}
	if len(codes) < 20 {
		t.Fatalf("docs/reference/errors.md has only %d codes", len(codes))
	}
	return codes
}

// during runs one attack. The server's health is asked for all the time, and what the attack took
// must be given back in the end.
func (a *attacked) during(t *testing.T, what func()) {
	t.Helper()
	before := a.use(t)
	logged := len(a.log.String())
	ask := a.askForHealth()
	what()
	if err := ask(); err != nil {
		t.Error(err)
	}
	a.http.CloseIdleConnections()
	after := a.settle(t, before)
	t.Logf("memory %d MB before, %d MB after; sockets %d and %d", before.memory>>20, after.memory>>20, before.sockets, after.sockets)
	for line := range strings.Lines(a.log.String()[logged:]) {
		if strings.Contains(line, "panic") || strings.Contains(line, "level=ERROR") {
			t.Errorf("the server's log says: %.2000s", line)
		}
	}
}

// askForHealth asks until it is told to stop, and then says what went wrong. A machine that runs
// other tests as well may be late once; the server is not healthy if it is late twice in a row.
func (a *attacked) askForHealth() (stop func() error) {
	over := make(chan struct{})
	var wg sync.WaitGroup
	var failed error
	wg.Go(func() {
		for last := false; !last && failed == nil; {
			select {
			case <-over:
				last = true // once more, afterwards
			case <-time.After(20 * time.Millisecond):
			}
			if first := a.healthy(); first != nil {
				if second := a.healthy(); second != nil {
					failed = errors.Join(first, second)
				}
			}
		}
	})
	return func() error {
		close(over)
		wg.Wait()
		return failed
	}
}

func (a *attacked) healthy() error {
	fresh := &http.Client{Transport: within{&http.Transport{DisableKeepAlives: true}, healthTime}}
	before := machine().now()
	resp, err := fresh.Get("http://" + a.addr + "/healthz")
	if err != nil {
		return fmt.Errorf("no health after %v: %w", machine().now()-before, err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("health is %d, %v", resp.StatusCode, err)
	}
	return nil
}

// usage is what a process holds.
type usage struct{ memory, sockets int }

func (a *attacked) use(t *testing.T) usage {
	t.Helper()
	dir := fmt.Sprint("/proc/", a.cmd.Process.Pid)
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		t.Fatal(err)
	}
	rss := regexp.MustCompile(`VmRSS:\s+([0-9]+) kB`).FindSubmatch(status)
	if rss == nil {
		t.Fatalf("no memory in %s", status)
	}
	kb, _ := strconv.Atoi(string(rss[1]))
	return usage{memory: kb << 10, sockets: a.sockets(t)}
}

// sockets counts those that the server has open. Its other files come and go with what the store
// does.
func (a *attacked) sockets(t *testing.T) int {
	t.Helper()
	dir := fmt.Sprint("/proc/", a.cmd.Process.Pid, "/fd")
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		if to, err := os.Readlink(filepath.Join(dir, f.Name())); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// settle waits until the server has given back what it took.
func (a *attacked) settle(t *testing.T, before usage) usage {
	t.Helper()
	for end := machine().now() + recoverTime; ; {
		now := a.use(t)
		if now.memory <= before.memory+moreMemory && now.sockets <= before.sockets+moreSockets {
			return now
		}
		if machine().now() > end {
			t.Errorf("after %v: memory %d MB, was %d; sockets %d, were %d", recoverTime, now.memory>>20, before.memory>>20, now.sockets, before.sockets)
			return now
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// check holds an answer against what every answer must be. An answer without a body, to HEAD, is
// judged by its status.
func (a *attacked) check(got answer) error {
	if got.status >= 500 && got.status != http.StatusServiceUnavailable {
		return fmt.Errorf("answered %s", got)
	}
	if got.status < 400 {
		return nil
	}
	if got.bare {
		return nil
	}
	if media := got.header.Get("Content-Type"); media != "application/problem+json" {
		return fmt.Errorf("%s instead of a problem: %s", media, got)
	}
	var p struct {
		Code   string `json:"code"`
		Status int    `json:"status"`
	}
	if err := json.Unmarshal(got.body, &p); err != nil {
		return fmt.Errorf("%w in %s", err, got)
	}
	if status, ok := a.codes[p.Code]; !ok || status != p.Status || status != got.status {
		return fmt.Errorf("code %q with the status %d, which is not that of the table: %s", p.Code, p.Status, got)
	}
	return inside(got)
}

// inside finds what only somebody with the source should know.
func inside(got answer) error {
	for _, word := range []string{"goroutine", "runtime.", "/internal/", ".go:", "sqlite", "SQL", "json:", "reflect", "0x"} {
		if strings.Contains(string(got.body), word) {
			return fmt.Errorf("the answer has %q in it: %s", word, got)
		}
	}
	return nil
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
	bare   bool // it had no body, as those to HEAD
}

func (a answer) String() string { return fmt.Sprintf("%d %v %.300q", a.status, a.header, a.body) }

func (a answer) code() string {
	var p struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal(a.body, &p)
	return p.Code
}
