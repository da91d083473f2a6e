package engine

import "context"

// Tracer receives how long the parts of an activation take. It must be fast and cannot fail.
type Tracer interface {
	// Begin is called before something that takes time: a claim, a commit, a read of the
	// journal, a model call, a body. What runs inside gets the context that it returns; end is
	// called once, after it, with its error.
	Begin(ctx context.Context, name string) (inside context.Context, end func(error))
}

type untraced struct{}

func (untraced) Begin(ctx context.Context, _ string) (context.Context, func(error)) {
	return ctx, func(error) {}
}

func traced[T any](ctx context.Context, e *Engine, name string, f func(context.Context) (T, error)) (T, error) {
	ctx, end := e.o.Tracer.Begin(ctx, name)
	v, err := f(ctx)
	end(err)
	return v, err
}
