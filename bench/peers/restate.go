//go:build linux

package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
)

var restate = peer{name: "restate", title: "Restate", version: pinned("package.json", `"@restatedev/restate-server"`),
	install: [][]string{{"npm ci --ignore-scripts --no-audit --no-fund"}},
	start:   startRestate}

func startRestate(ctx context.Context, w *world) (caller, error) {
	program, ingress, admin, node := freeAddr(), freeAddr(), freeAddr(), freeAddr()
	_, programPort, _ := net.SplitHostPort(program)
	_, nodePort, _ := net.SplitHostPort(node)
	servers, err := filepath.Glob(filepath.Join(w.home, "node_modules/@restatedev/restate-server-*/bin/restate-server"))
	if err != nil || len(servers) != 1 {
		return nil, errors.New("the server is not installed; run bench/peers/run install")
	}
	if err := w.spawn(nil, []string{"PORT=" + programPort}, "node", filepath.Join(w.home, "main.mjs")); err != nil {
		return nil, err
	}
	err = w.spawn(nil, []string{"RESTATE_INGRESS__BIND_ADDRESS=" + ingress, "RESTATE_ADMIN__BIND_ADDRESS=" + admin, "RESTATE_DISABLE_TELEMETRY=true"},
		servers[0], "--no-logo", "--listen-mode", "tcp", "--bind-ip", "127.0.0.1", "--bind-port", nodePort, "--base-dir", filepath.Join(w.dir, "restate"), "--node-name", "bench")
	if err != nil {
		return nil, err
	}
	c := restateCaller{"http://" + ingress}
	return c, until(ctx, func() error {
		if err := post(ctx, "http://"+admin+"/deployments", map[string]any{"uri": "http://" + program, "force": true}); err != nil {
			return err
		}
		return send(ctx, http.MethodGet, c.url+"/restate/health", nil)
	})
}

// restateCaller uses the ingress of the server.
type restateCaller struct{ url string }

func (c restateCaller) start(ctx context.Context, id string, _ int) error {
	return send(ctx, http.MethodPost, c.url+"/agent/"+id+"/run/send", nil)
}

// waits relies on the time that the approver takes: a promise may be resolved before it is awaited.
func (c restateCaller) waits(context.Context, string) error { return nil }

func (c restateCaller) approve(ctx context.Context, id string, step int) error {
	return post(ctx, c.url+"/agent/"+id+"/approve", map[string]int{"step": step})
}

func (c restateCaller) done(ctx context.Context, id string) error {
	return send(ctx, http.MethodGet, c.url+"/restate/workflow/agent/"+id+"/attach", nil)
}
