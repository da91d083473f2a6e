package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
)

var programs string // the directory of those that tests build

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "clients"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(programs)
	os.Exit(code)
}

// built is the path of the desk's program, which is built once for all tests.
var built = sync.OnceValues(func() (string, error) {
	program := filepath.Join(programs, "desk")
	if out, err := exec.Command("go", "build", "-o", program, "./desk").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return program, nil
})

// serve starts the desk, on data that the test removes.
func serve(t *testing.T, more ...string) desk {
	t.Helper()
	dir := t.TempDir()
	program, err := built()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"dev", "--addr", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--agents", "agents", "--json"}, more...)
	server := exec.CommandContext(t.Context(), program, args...)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Wait() }) // its context has ended
	var said struct {
		URL string `json:"url"`
	}
	if err := json.NewDecoder(out).Decode(&said); err != nil || said.URL == "" {
		t.Fatalf("the server says no address: %v", err)
	}
	return desk{said.URL, filepath.Join(dir, "data")}
}

// desk is a server that listens, and where its data are.
type desk struct{ url, data string }

// callers makes the server ask for tokens, and returns its arguments. The token of each caller is
// its name.
func callers(t *testing.T) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	lines := ""
	for _, p := range []access.Principal{
		{Name: "anna", Tenant: access.Tenant, Roles: []access.Role{access.Start, access.Read, access.Decide, access.Links}},
		{Name: "ben", Tenant: access.Tenant, Roles: []access.Role{access.Start, access.Read, access.Decide}},
		{Name: "reader", Tenant: access.Tenant, Roles: []access.Role{access.Start, access.Read}},
		{Name: "eve", Tenant: "other", Roles: []access.Role{access.Start, access.Read, access.Decide}},
	} {
		lines += access.Grant{Principal: p, Hash: access.HashOf(p.Name)}.Line() + "\n"
	}
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--tokens", file}
}

// payments are the lines of the desk's ledger.
func payments(t *testing.T, d desk) string {
	t.Helper()
	paid, err := os.ReadFile(filepath.Join(d.data, "payments.jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(paid)
}

// caller is one of the server's, with a token.
type caller struct{ url, token string }

// reply is what a caller is answered.
type reply struct {
	status int
	text   string
	code   string // that a header says
}

func (c caller) post(path string, body any, header ...string) (reply, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return reply{}, err
	}
	return c.send(path, string(text), append(header, "Content-Type", "application/json")...)
}

// mcp sends a message of a client that can ask its user, and that knows tasks.
func (c caller) mcp(method string, params map[string]any) (reply, error) {
	return c.mcpAs(map[string]any{"elicitation": map[string]any{"form": map[string]any{}}, "extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}}, method, params)
}

// silentMCP sends a message of a client that can do neither.
func (c caller) silentMCP(method string, params map[string]any) (reply, error) {
	return c.mcpAs(map[string]any{}, method, params)
}

func (c caller) mcpAs(capabilities map[string]any, method string, params map[string]any) (reply, error) {
	params["_meta"] = map[string]any{"io.modelcontextprotocol/protocolVersion": mcpVersion, "io.modelcontextprotocol/clientInfo": map[string]any{"name": "test", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": capabilities}
	header := []string{"Mcp-Protocol-Version", mcpVersion, "Mcp-Method", method}
	if name, is := params["name"].(string); is {
		header = append(header, "Mcp-Name", name)
	}
	return c.post("/mcp", map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, header...)
}

const mcpVersion = "2026-07-28"

// submit sends a form of a page of the server.
func (c caller) submit(path string, form url.Values) (reply, error) {
	return caller{url: c.url}.send(path, form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html", "Origin", c.url, "Sec-Fetch-Site", "same-origin")
}

func (c caller) send(path, body string, header ...string) (reply, error) {
	req, err := http.NewRequest(http.MethodPost, c.url+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, string(answer), resp.Header.Get("X-Error-Code")}, err
}
