package wire

// Health is the answer of GET /healthz.
type Health struct {
	Status  string `json:"status"` // [HealthOK] or [HealthFailing]
	Version string `json:"version"`
	Storage string `json:"storage,omitempty"` // what is wrong with the store; empty: nothing
	// that were committed and are not in the database's main file yet
	LogBytes int64 `json:"log_bytes,omitempty"`
}

// The states of a server. One whose disk is full is ok: it can be read, and its inbox can be
// answered once there is room.
const (
	HealthOK = "ok"
	// nothing can be stored until an operator has done something; /healthz answers 503
	HealthFailing = "failing"
)

// What may be wrong with the store.
const (
	StorageFull    = "full"    // reads are served, nothing is stored
	StorageFailing = "failing" // the disk answers with errors
	StorageDamaged = "damaged" // a part of what is stored is damaged; the rest is served
	StorageGone    = "gone"    // the directory was moved, removed or replaced under the server
)
