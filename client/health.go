package client

import (
	"context"
	"encoding/json"
	"net/http"
)

// Health is the state of a server and its store.
type Health struct {
	Status  string `json:"status"`  // [HealthOK] or [HealthFailing]
	Version string `json:"version"` // the version of the program
	// A digest of the policy over all agents, such as "sha256:1f0c…", or "none".
	Policy string `json:"policy,omitempty"`
	// What is wrong with the store. "full": reads work, writes are refused. "failing": the disk
	// returns errors. "damaged": a part of the stored data is damaged. "gone": the data
	// directory was moved, removed or replaced. Empty if the store works.
	Storage string `json:"storage,omitempty"`
	// Bytes of the write-ahead log that haven't been copied to the main database file. A log
	// that keeps growing can't be copied.
	LogBytes int64 `json:"log_bytes,omitempty"`
}

// The states of a server.
const (
	HealthOK      = "ok"      // requests are served; with a full disk only reads
	HealthFailing = "failing" // the store doesn't work reliably; the operator must act
)

// The problems of a store.
const (
	StorageFull    = "full"    // reads work, writes are refused
	StorageFailing = "failing" // the disk returns errors
	StorageDamaged = "damaged" // a part of the stored data is damaged; the rest is served
	StorageGone    = "gone"    // the data directory was moved, removed or replaced
)

// Health checks the server. It sends the request once. A server that answers and reports a problem
// is not an error: check the Status.
func (c *Client) Health(ctx context.Context) (Health, error) {
	var h Health
	now := *c
	now.retries = 0
	err := now.do(ctx, request{method: http.MethodGet, path: "/healthz", accepts: isHealth}, &h)
	return h, err
}

// isHealth says whether the answer, perhaps one with status 503, is the server's own.
func isHealth(answer []byte) bool {
	var h Health
	return json.Unmarshal(answer, &h) == nil && h.Status != ""
}
