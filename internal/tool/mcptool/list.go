package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

// Listed is a tool as a server lists it. All of it is untrusted.
type Listed struct {
	Name        string
	Title       string
	Description string
	Schema      json.RawMessage // schema of the arguments
	ReadOnly    bool            // the server claims that it changes nothing
	// the server claims that doing it twice has the effect of doing it once
	Idempotent bool
}

// Limits of reading a list.
const (
	mostListed = 1000
	listWithin = 30 * time.Second
)

// List fetches the tools of a server, at most 1000. The error may be shown and contains no secret.
func (t *Tools) List(ctx context.Context, s agent.Server) ([]Listed, error) {
	fields, err := remote.ReadHeaders(s.Headers, reserved)
	if err != nil {
		return nil, err
	}
	values, headers, err := fields.Fill(ctx, t.o.Secrets)
	if err != nil {
		return nil, err
	}
	inside, patience := remote.NewPatience(ctx, t.o.Clock, listWithin, longest)
	defer patience.End()
	var w wire
	listed, err := t.list(watched(inside, &w), link{server: s, headers: headers})
	if err == nil {
		return listed, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	x := seen(inside, exchange{err: err, hidden: values}, &w)
	said := fmt.Sprintf("the MCP server %s %s", hostOf(s), x.unreached(listWithin))
	if x.status == 0 && x.rpc() == nil {
		said += ": " + begin(values, err.Error(), mostShown)
	}
	return nil, errors.New(values.Redact(said))
}

func (t *Tools) list(ctx context.Context, l link) (all []Listed, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", errPanic, cause)
		}
	}()
	s, err := t.connect(ctx, l)
	if err != nil {
		return nil, err
	}
	defer drop(s)
	cursor := ""
	for range mostPages {
		page, err := s.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for _, tool := range page.Tools {
			if tool != nil && len(all) < mostListed {
				all = append(all, listedOf(tool))
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	return all, nil
}

func listedOf(t *mcp.Tool) Listed {
	l := Listed{Name: t.Name, Title: t.Title, Description: t.Description}
	l.Schema, _ = core.EncodeAny(t.InputSchema) // it came as JSON
	if a := t.Annotations; a != nil {
		l.ReadOnly, l.Idempotent = a.ReadOnlyHint, a.IdempotentHint
	}
	return l
}
