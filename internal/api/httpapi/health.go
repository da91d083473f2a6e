package httpapi

import (
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// Storage is the state of the server's store.
type Storage struct {
	Trouble  string // [wire.StorageFull] and so on; empty: it answers
	LogBytes int64  // that were committed and are not in the database's main file yet
}

// health says whether this server does its work. A full disk leaves it serving reads and the inbox;
// any other trouble of the store takes it out of service, so that a load balancer or a supervisor
// notices by the status alone.
func (a *api) health(w http.ResponseWriter, r *http.Request) error {
	health, status := wire.Health{Status: wire.HealthOK, Version: a.version, Policy: a.policy}, http.StatusOK
	if a.storage != nil {
		now := a.storage()
		health.Storage, health.LogBytes = now.Trouble, now.LogBytes
	}
	if health.Storage != "" && health.Storage != wire.StorageFull {
		health.Status, status = wire.HealthFailing, http.StatusServiceUnavailable
	}
	return a.writeJSON(w, r, status, health)
}
