//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// temporalConfig has the settings of config/development-sqlite-file.yaml, of Temporal's repository.
const temporalConfig = `log: {stdout: true, level: error}
persistence:
  defaultStore: sqlite
  visibilityStore: sqlite
  numHistoryShards: 1
  datastores:
    sqlite:
      sql:
        pluginName: sqlite
        databaseName: %q
        connectAddr: localhost
        connectProtocol: tcp
        connectAttributes: {cache: private, setup: "true", journal_mode: wal, synchronous: "2"}
        maxConns: 1
        maxIdleConns: 1
global: {membership: {maxJoinDuration: 30s, broadcastAddress: 127.0.0.1}}
services:
  frontend: {rpc: {grpcPort: %s, membershipPort: %s, bindOnLocalHost: true}}
  matching: {rpc: {grpcPort: %s, membershipPort: %s, bindOnLocalHost: true}}
  history: {rpc: {grpcPort: %s, membershipPort: %s, bindOnLocalHost: true}}
  worker: {rpc: {grpcPort: %s, membershipPort: %s, bindOnLocalHost: true}}
clusterMetadata:
  enableGlobalNamespace: false
  failoverVersionIncrement: 10
  masterClusterName: active
  currentClusterName: active
  clusterInformation:
    active: {enabled: true, initialFailoverVersion: 1, rpcName: frontend, rpcAddress: "127.0.0.1:%[2]s"}
dcRedirectionPolicy: {policy: noop}
archival: {history: {state: disabled}, visibility: {state: disabled}}
namespaceDefaults: {archival: {history: {state: disabled}, visibility: {state: disabled}}}
`

var temporal = peer{name: "temporal", title: "Temporal", version: pinned("go.mod", "go.temporal.io/server v"),
	install: [][]string{{"CGO_ENABLED=0 go build -o server go.temporal.io/server/cmd/server && CGO_ENABLED=0 go build -o agent ."}},
	start:   startTemporal}

func startTemporal(ctx context.Context, w *world) (caller, error) {
	values := []any{filepath.Join(w.dir, "temporal.db")}
	for _, addr := range freeAddrs(8) {
		_, port, _ := net.SplitHostPort(addr)
		values = append(values, port)
	}
	config := filepath.Join(w.dir, "temporal.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, temporalConfig, values...), 0o644); err != nil {
		return nil, err
	}
	if err := w.spawn(nil, nil, filepath.Join(w.home, "server"), "--config-file", config, "--allow-no-auth", "start"); err != nil {
		return nil, err
	}
	frontend := "127.0.0.1:" + values[1].(string)
	if err := alivePort(ctx, frontend); err != nil {
		return nil, err
	}
	return startProgram(ctx, w, false, []string{"SERVER=" + frontend}, filepath.Join(w.home, "agent"))
}
