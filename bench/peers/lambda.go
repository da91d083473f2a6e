//go:build linux

package main

import (
	"context"
	"path/filepath"
)

// lambda is not durable: the runner keeps all in memory.
var lambda = peer{name: "lambda", title: "Lambda's test runner (in memory)", version: pinned("requirements.txt", "aws-durable-execution-sdk-python-testing=="),
	install: [][]string{{"python3 -m venv venv && venv/bin/python -m pip install -q -r requirements.txt"}},
	start: func(ctx context.Context, w *world) (caller, error) {
		return startProgram(ctx, w, false, nil, filepath.Join(w.home, "venv/bin/python"), filepath.Join(w.home, "main.py"))
	}}
