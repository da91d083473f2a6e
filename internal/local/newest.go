package local

import "context"

// Newest implements [engine.Agents].
func (a *Agents) Newest(ctx context.Context, tenant, name string) (version string, err error) {
	current, err := a.stored.Current(ctx, tenant, name)
	return current.Digest, err
}
