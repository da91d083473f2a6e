//go:build linux

package main

import (
	"context"
	"path/filepath"
	"slices"
)

var langgraphJS = peer{name: "langgraph-js", title: "LangGraph JS", version: pinned("package.json", `"@langchain/langgraph"`),
	install: [][]string{
		{"npm ci --ignore-scripts --no-audit --no-fund"},
		// the headers of the installed node, so that none are downloaded
		{`cd node_modules/better-sqlite3 && node "$(npm root -g)/npm/node_modules/node-gyp/bin/node-gyp.js" rebuild --release --nodedir="$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")"`}},
	start: startLanggraphJS}

var langgraphPython = peer{name: "langgraph-py", title: "LangGraph Python", version: pinned("requirements.txt", "langgraph=="),
	install: [][]string{{"python3 -m venv venv && venv/bin/python -m pip install -q -r requirements.txt"}},
	start:   startLanggraphPython}

var langgraphJSPostgres = withPostgres(langgraphJS)

var langgraphPythonPostgres = withPostgres(langgraphPython)

// withPostgres is the peer with the saver for Postgres.
func withPostgres(p peer) peer {
	p.folder, p.name, p.title = p.name, p.name+"-postgres", p.title+" on Postgres"
	p.install = append(slices.Clone(p.install), []string{needsPostgres})
	start := p.start
	p.start = func(ctx context.Context, w *world) (caller, error) {
		database, err := startPostgres(ctx, w)
		if err != nil {
			return nil, err
		}
		w.env = []string{"DATABASE_URL=postgresql://bench@" + database + "/postgres"}
		return start(ctx, w)
	}
	return p
}

func startLanggraphJS(ctx context.Context, w *world) (caller, error) {
	return startProgram(ctx, w, true, nil, "node", filepath.Join(w.home, "main.mjs"))
}

func startLanggraphPython(ctx context.Context, w *world) (caller, error) {
	return startProgram(ctx, w, true, nil, filepath.Join(w.home, "venv/bin/python"), filepath.Join(w.home, "main.py"))
}
