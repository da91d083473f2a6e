package webhooks

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Store keeps the webhooks of tenants. Each write is atomic, and sending it again after
// [engine.ErrUnavailable] has the effect of sending it once. Reads see every write that was
// answered before.
type Store interface {
	// PutWebhook stores the revision w.Rev of a webhook if the one before it is stored, or
	// none for revision 1. [engine.ErrRefused] otherwise, unless exactly w is stored.
	PutWebhook(ctx context.Context, w notice.Webhook) error

	// Webhook reads one. [engine.ErrNotFound] if it is not there.
	Webhook(ctx context.Context, tenant, id string) (notice.Webhook, error)

	// Webhooks are all of a tenant, by id. One that can't be read hides no other: it is
	// Damaged.
	Webhooks(ctx context.Context, tenant string) ([]notice.Webhook, error)

	// DeleteWebhook deletes one, and that it is disabled. One that is not there is no error.
	DeleteWebhook(ctx context.Context, tenant, id string) error

	// DisableEndpoint notes that an endpoint is disabled, and returns the note. One that is
	// there stays as it is.
	DisableEndpoint(ctx context.Context, d notice.Disabled) (notice.Disabled, error)

	// EnableEndpoint undoes that. An endpoint that is not disabled is no error.
	EnableEndpoint(ctx context.Context, tenant, endpoint string) error

	// Disabled returns those of the endpoints that are disabled. The endpoint of a mark that
	// can't be read is disabled, too; see [notice.DamagedMark].
	Disabled(ctx context.Context, tenant string, endpoints []string) (map[string]notice.Disabled, error)

	// DisabledEndpoints lists the disabled endpoints of a tenant by id, from behind one, those
	// of damaged marks included.
	DisabledEndpoints(ctx context.Context, tenant, after string, limit int) ([]notice.Disabled, error)
}

// Deliveries is what became of notices.
type Deliveries interface {
	// Records lists the notices that are delivered or dead, newest first, from behind the
	// cursor. [engine.ErrRefused] for a cursor that this list did not give out.
	Records(ctx context.Context, tenant string, q engine.RecordQuery) (records []notice.Record, next string, err error)

	// Record reads one of them. [engine.ErrNotFound] if it is not there.
	Record(ctx context.Context, k notice.Key, event int64) (notice.Record, error)

	// ThreadLines are the lines of a thread by their endpoints, with the notices that are on
	// their way.
	ThreadLines(ctx context.Context, tenant, thread string) (map[string]notice.Line, error)

	// RedriveNotice puts a dead notice back in its line, due at now. [engine.ErrNotFound] if
	// none is dead there.
	RedriveNotice(ctx context.Context, k notice.Key, event, now int64) error

	// ForgetNotice deletes the record of a dead notice. [engine.ErrNotFound] if none is dead
	// there.
	ForgetNotice(ctx context.Context, k notice.Key, event int64) error
}
