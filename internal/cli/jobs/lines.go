package jobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/queue/intake"
)

// The size of a batch of lines. A server that uses the same data waits for each batch.
const (
	lotLines = 500
	lotBytes = 4 << 20
)

// mostListed is how many invalid lines are listed.
const mostListed = 20

// enqueuing is one file on its way into the queue.
type enqueuing struct {
	app      *app
	flags    intakeFlags
	judge    local.Messages
	progress *display.Progress
	agents   map[string]int // the first line that names each
	keys     keyLines

	good, bad, stored int
	lot               [][]byte
	size              int
}

// look reads the whole file and reports invalid lines. It stores nothing.
func (e *enqueuing) look(ctx context.Context, file io.Reader) error {
	return intake.Lines(file, func(line intake.Line) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		m, err := e.judge.Check(ctx, line.Body)
		if err == nil {
			err = e.keys.add(line, m)
		}
		if err != nil {
			return e.refused(line, err)
		}
		e.good++
		if _, known := e.agents[m.Agent]; !known && len(e.agents) < 1000 {
			e.agents[m.Agent] = line.Number
		}
		if e.good > lotLines { // a short file needs no progress
			e.progress.At(e.good+e.bad, 0, "checked")
		}
		return nil
	})
}

// keyLines are the keys of the file so far, with the line and digest of each.
type keyLines map[[sha256.Size]byte]keyed

type keyed struct {
	line   int
	digest string
}

// add refuses a key that another line uses for another body. One of the two would be started, and
// it would be unclear which. As in the API, starts on a thread and starts without one have separate
// keys.
func (k keyLines) add(line intake.Line, m intake.Message) error {
	canonical, err := core.Canonical(line.Body)
	if err != nil {
		return err
	}
	name := sha256.Sum256(fmt.Appendf(nil, "%t %s", m.ThreadID != "", m.IdempotencyKey))
	mine := keyed{line.Number, core.Digest(canonical)}
	first, there := k[name]
	if there && first.digest != mine.digest {
		return &refusal.Error{Code: refusal.CodeIdempotencyMismatch, Detail: fmt.Sprintf(
			"it has the idempotency_key of line %d but another body; give it a different key", first.line)}
	}
	if !there {
		k[name] = mine
	}
	return nil
}

// refused reports an invalid line.
func (e *enqueuing) refused(line intake.Line, err error) error {
	var why *refusal.Error
	if !errors.As(err, &why) {
		return err
	}
	e.bad++
	if e.bad <= mostListed {
		e.progress.End()
		e.app.Warn(string(why.Code), fmt.Sprintf("line %d: %s%s", line.Number, why.Detail, hint(line.Body)))
	}
	return nil
}

// hint names a common cause of an invalid line.
func hint(body []byte) string {
	trimmed := bytes.TrimSpace(body)
	switch {
	case bytes.HasPrefix(trimmed, []byte("\xef\xbb\xbf")):
		return "; it starts with a byte order mark; save the file as UTF-8 without one"
	case bytes.Equal(trimmed, []byte("[")), bytes.Equal(trimmed, []byte("{")), bytes.HasPrefix(trimmed, []byte("[{")):
		return "; write one object per line, without a list around them"
	case bytes.HasSuffix(trimmed, []byte("},")):
		return "; remove the comma at its end"
	}
	return ""
}

func (e *enqueuing) badLines() string {
	words := fmt.Sprintf("%d of %d lines are invalid", e.bad, e.good+e.bad)
	if e.good+e.bad == 1 {
		words = "the only line is invalid"
	}
	if e.bad > mostListed {
		words += fmt.Sprintf(" (the first %d are listed above)", mostListed)
	}
	return words
}

// store puts the valid lines into the queue, batch by batch.
func (e *enqueuing) store(ctx context.Context, file io.Reader) error {
	queue, made, err := e.open(ctx)
	if err != nil {
		return err
	}
	defer queue.Close()
	e.progress.End()
	e.progress = e.app.Progress() // storing has another rate than checking
	if err := e.warnOfAgents(ctx, queue, made); err != nil {
		return err
	}
	err = intake.Lines(file, func(line intake.Line) error {
		m, err := e.judge.Check(ctx, line.Body)
		if err == nil {
			err = e.keys.add(line, m)
		}
		if err != nil {
			return e.changed(line)
		}
		e.lot, e.size = append(e.lot, bytes.Clone(line.Body)), e.size+len(line.Body)
		if len(e.lot) < lotLines && e.size < lotBytes {
			return nil
		}
		return e.flush(ctx, queue)
	})
	if err == nil {
		err = e.flush(ctx, queue)
	}
	if err != nil {
		return e.cut(err)
	}
	return nil
}

// open opens the queue. made says that it was created: its messages are not started before a server
// uses the directory, whose name may be misspelled.
func (e *enqueuing) open(ctx context.Context) (queue *local.Intake, made bool, err error) {
	queue, err = local.OpenIntake(ctx, e.flags.data, false)
	if !errors.Is(err, fs.ErrNotExist) {
		return queue, false, err
	}
	queue, err = local.OpenIntake(ctx, e.flags.data, true)
	return queue, true, err
}

// changed handles a line that is invalid in the second pass: it was reported, or the file changed.
func (e *enqueuing) changed(line intake.Line) error {
	if e.flags.keepGoing {
		return nil
	}
	return fmt.Errorf("line %d changed while the file was read; run the command again", line.Number)
}

func (e *enqueuing) flush(ctx context.Context, queue *local.Intake) error {
	if len(e.lot) == 0 {
		return nil
	}
	if err := queue.Put(ctx, e.flags.tenant, e.lot); err != nil {
		return err
	}
	e.stored += len(e.lot)
	e.lot, e.size = nil, 0
	if e.good > lotLines {
		e.progress.At(e.stored, e.good, "stored")
	}
	return nil
}

// warnOfAgents warns of agents that the servers of the directory don't have. It is not an error,
// because the next start may add them.
func (e *enqueuing) warnOfAgents(ctx context.Context, queue *local.Intake, made bool) error {
	have, err := queue.Agents(ctx, e.flags.tenant)
	if err != nil {
		return err
	}
	if len(have) == 0 {
		return e.warnOfTenant(ctx, queue, made)
	}
	for _, name := range slices.Sorted(maps.Keys(e.agents)) {
		if !have[name] {
			e.progress.End()
			e.app.Warn("agent_not_deployed", fmt.Sprintf("line %d: the server of %s had no agent %q when it last started (it had %s); runs of an unknown agent become dead letters",
				e.agents[name], e.flags.data, name, display.Listed(slices.Sorted(maps.Keys(have)))))
		}
	}
	return nil
}

// warnOfTenant warns of a tenant without agents, whose name may be misspelled. If no tenant has
// agents, the directory may be misspelled. It is not an error, because the queue works without a
// server.
func (e *enqueuing) warnOfTenant(ctx context.Context, queue *local.Intake, made bool) error {
	usual, err := queue.Agents(ctx, access.Tenant)
	e.progress.End()
	switch {
	case err != nil:
	case made:
		e.app.Warn("data_made", fmt.Sprintf("%s did not exist and was created; no server has used it yet. If your server uses another directory, set --data",
			e.flags.data))
	case len(usual) == 0:
		e.app.Warn("data_not_served", fmt.Sprintf("no server with an agent has used %s yet. If your server uses another directory, set --data", e.flags.data))
	default:
		e.app.Warn("tenant_not_served", fmt.Sprintf("no server of %s knows the tenant %s yet; to add the tenant, create a token: dormouse tokens add NAME --tenant %[2]s",
			e.flags.data, e.flags.tenant))
	}
	return err
}
