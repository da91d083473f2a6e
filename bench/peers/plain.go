//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// freeAddr is an address that no program uses now.
func freeAddr() string { return freeAddrs(1)[0] }

// freeAddrs are different addresses that no program uses now.
func freeAddrs(n int) (all []string) {
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		defer listener.Close()
		all = append(all, listener.Addr().String())
	}
	return all
}

// post sends a JSON body.
func post(ctx context.Context, url string, body any) error {
	return send(ctx, http.MethodPost, url, core.Encode(body))
}

func send(ctx context.Context, method, url string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s: %s", method, url, answer.Status, text)
	}
	return err
}

// plainCaller uses the HTTP server in the program of a peer that is a library.
type plainCaller struct {
	url string
	// the server can tell when a run waits
	tells bool
}

func (c plainCaller) run(id string) string { return c.url + "/runs/" + id }

func (c plainCaller) start(ctx context.Context, id string, steps int) error {
	return post(ctx, c.run(id), map[string]int{"steps": steps})
}

func (c plainCaller) waits(ctx context.Context, id string) error {
	if !c.tells {
		return nil
	}
	return send(ctx, http.MethodGet, c.run(id)+"/settled", nil)
}

func (c plainCaller) approve(ctx context.Context, id string, step int) error {
	return post(ctx, c.run(id)+"/approve", map[string]int{"step": step})
}

func (c plainCaller) done(ctx context.Context, id string) error {
	return send(ctx, http.MethodGet, c.run(id)+"/done", nil)
}

func alivePort(ctx context.Context, addr string) error {
	return until(ctx, func() error {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err
	})
}

// alive returns nil once a server answers, whatever it says.
func alive(ctx context.Context, url string) error {
	return until(ctx, func() error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(r)
		if err == nil {
			answer.Body.Close()
		}
		return err
	})
}

// pinned returns the version of a package in a file of versions, after its name and a separator.
func pinned(file, name string) func(home string) string {
	return func(home string) string {
		text, _ := os.ReadFile(filepath.Join(home, file))
		_, after, _ := strings.Cut(string(text), name)
		return strings.FieldsFunc(after+"\n", func(r rune) bool { return strings.ContainsRune("\": ,=\n", r) })[0]
	}
}

// startProgram starts the program of a peer that is a library.
func startProgram(ctx context.Context, w *world, tells bool, env []string, args ...string) (caller, error) {
	addr := freeAddr()
	_, port, _ := net.SplitHostPort(addr)
	if err := w.spawn(nil, append(env, "PORT="+port, "DATA="+w.dir), args...); err != nil {
		return nil, err
	}
	return plainCaller{"http://" + addr, tells}, alive(ctx, "http://"+addr)
}
