//go:build linux

package main

import (
	"context"
	"path/filepath"
)

var dbos = peer{name: "dbos", title: "DBOS Python", version: pinned("requirements.txt", "dbos=="),
	install: [][]string{{"python3 -m venv venv && venv/bin/python -m pip install -q -r requirements.txt"}, {needsPostgres}},
	start:   startDBOS}

func startDBOS(ctx context.Context, w *world) (caller, error) {
	database, err := startPostgres(ctx, w)
	if err != nil {
		return nil, err
	}
	return startProgram(ctx, w, false, []string{"DATABASE_URL=postgresql://bench@" + database + "/bench"},
		filepath.Join(w.home, "venv/bin/python"), filepath.Join(w.home, "main.py"))
}
