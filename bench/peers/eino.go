//go:build linux

package main

import (
	"context"
	"path/filepath"
)

var eino = peer{name: "eino", title: "Eino", version: pinned("go.mod", "github.com/cloudwego/eino v"),
	install: [][]string{{"CGO_ENABLED=0 go build -o agent ."}},
	start: func(ctx context.Context, w *world) (caller, error) {
		return startProgram(ctx, w, true, nil, filepath.Join(w.home, "agent"))
	}}
