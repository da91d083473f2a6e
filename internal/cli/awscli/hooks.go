package awscli

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Hooks are the deployed hook files of all tenants. A [Table] has them.
type Hooks interface {
	HookFiles(ctx context.Context) ([]engine.HookFile, error)

	// PutHook and RemoveHook return [engine.ErrRefused] if the hook belongs to another tenant.
	PutHook(ctx context.Context, f engine.HookFile) error
	RemoveHook(ctx context.Context, tenant, name string) error
}
