//go:build linux

package hostile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// dial connects; the connection is closed with the test.
func (a *attacked) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := machine().connect(a.addr, callTime)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	a.conns = append(a.conns, conn)
	return conn
}

// hangUp closes the connections of [attacked.dial] that are left.
func (a *attacked) hangUp() {
	for _, conn := range a.conns {
		_ = conn.Close()
	}
	a.conns = nil
}

// errOpen says that the server neither closed a connection nor went on.
var errOpen = errors.New("the connection is still open")

// exchange sends text and returns every answer until the server closes.
func (a *attacked) exchange(t *testing.T, text string) ([]answer, error) {
	t.Helper()
	conn := a.dial(t)
	defer conn.Close()
	defer machine().bound(conn, callTime)()
	// the server may answer, and close, before it has all of it
	go func() { _, _ = io.WriteString(conn, text) }()
	return answers(conn, strings.HasPrefix(text, "HEAD "))
}

// answers reads until the connection is closed. Anything before the first answer that is no HTTP is
// an error.
func answers(conn net.Conn, head bool) (all []answer, err error) {
	var req *http.Request
	if head {
		req = &http.Request{Method: http.MethodHead}
	}
	from := bufio.NewReader(conn)
	for {
		resp, err := http.ReadResponse(from, req)
		if err != nil {
			return all, ended(err)
		}
		body, err := io.ReadAll(resp.Body)
		if resp.StatusCode >= 200 {
			all = append(all, answer{resp.StatusCode, resp.Header, body, head})
		}
		if err != nil {
			return all, ended(err)
		}
	}
}

// ended is nil for a connection that the server closed, in whatever way.
func ended(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return errOpen
	}
	return fmt.Errorf("no HTTP came back: %w", err)
}

func get(path string, header ...string) string { return request("GET", path, "", header...) }

func post(path, body string, header ...string) string {
	return request("POST", path, body, append(header, jsonBody, fmt.Sprint("Content-Length: ", len(body)))...)
}

const jsonBody = "Content-Type: application/json"

// request is the last one of its connection.
func request(method, path, body string, header ...string) string {
	header = append([]string{method + " " + path + " HTTP/1.1", "Host: localhost", "Connection: close"}, header...)
	return strings.Join(header, "\r\n") + "\r\n\r\n" + body
}

// refusedByHTTP are the answers that the HTTP server of the standard library gives by itself,
// before there is a request.
const refusedByHTTP = "net/http"

// tally says in one word what came back: nothing but a close, or the code of a problem, or the
// status of a success.
func (a *attacked) tally(all []answer) (word string, err error) {
	if len(all) == 0 {
		return "closed", nil
	}
	var words []string
	for _, one := range all {
		media, _, _ := strings.Cut(one.header.Get("Content-Type"), ";")
		switch {
		case media == "text/plain" && one.status < 500 || one.status == http.StatusExpectationFailed || media == "text/plain" && (one.status == 501 || one.status == 505):
			words = append(words, refusedByHTTP)
			continue
		case one.status < 400 || one.bare:
			words = append(words, fmt.Sprint(one.status))
		default:
			words = append(words, one.code())
		}
		err = errors.Join(err, a.check(one))
	}
	return strings.Join(words, " "), err
}
