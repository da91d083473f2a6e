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
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/queue/intake"
)

// Lines are stored so many, or so many bytes, at once: a server on the same data waits for each
// lot.
const (
	lotLines = 500
	lotBytes = 4 << 20
)

// mostTold is how many bad lines are told one by one.
const mostTold = 20

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

// look reads the whole file and tells what is bad in it. It stores nothing.
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
		if e.good > lotLines { // a short file needs no word
			e.progress.At(e.good+e.bad, 0, "looked at")
		}
		return nil
	})
}

// keyLines are the keys of the file so far, and what each stands for.
type keyLines map[[sha256.Size]byte]keyed

type keyed struct {
	line   int
	digest string
}

// add refuses a key that stands for something else on another line. Whichever of the two came first
// would be started, and nobody could say which. As everywhere, a start on a thread and one without
// have keys apart.
func (k keyLines) add(line intake.Line, m intake.Message) error {
	canonical, err := core.Canonical(line.Body)
	if err != nil {
		return err
	}
	name := sha256.Sum256(fmt.Appendf(nil, "%t %s", m.ThreadID != "", m.IdempotencyKey))
	mine := keyed{line.Number, core.Digest(canonical)}
	first, there := k[name]
	if there && first.digest != mine.digest {
		return &frontend.Error{Code: frontend.CodeIdempotencyMismatch, Detail: fmt.Sprintf(
			"its idempotency_key is that of line %d, and the rest is not the same; give it a key of its own", first.line)}
	}
	if !there {
		k[name] = mine
	}
	return nil
}

// refused tells of a bad line.
func (e *enqueuing) refused(line intake.Line, err error) error {
	var why *frontend.Error
	if !errors.As(err, &why) {
		return err
	}
	e.bad++
	if e.bad <= mostTold {
		e.progress.End()
		e.app.Warn(string(why.Code), fmt.Sprintf("line %d: %s%s", line.Number, why.Detail, hint(line.Body)))
	}
	return nil
}

// hint says what often stands behind a bad line.
func hint(body []byte) string {
	trimmed := bytes.TrimSpace(body)
	switch {
	case bytes.HasPrefix(trimmed, []byte("\xef\xbb\xbf")):
		return "; it begins with a byte order mark: save the file as UTF-8 without one"
	case bytes.Equal(trimmed, []byte("[")), bytes.Equal(trimmed, []byte("{")), bytes.HasPrefix(trimmed, []byte("[{")):
		return "; write one object a line, each on a line of its own and without a list around them"
	case bytes.HasSuffix(trimmed, []byte("},")):
		return "; there is a comma at its end, take it away"
	}
	return ""
}

func (e *enqueuing) badLines() string {
	words := fmt.Sprintf("%d of %d lines are bad", e.bad, e.good+e.bad)
	if e.good+e.bad == 1 {
		words = "the only line is bad"
	}
	if e.bad > mostTold {
		words += fmt.Sprintf(" (the first %d are told above)", mostTold)
	}
	return words
}

// store puts the good lines into the queue, lot by lot.
func (e *enqueuing) store(ctx context.Context, file io.Reader) error {
	queue, made, err := e.open(ctx)
	if err != nil {
		return err
	}
	defer queue.Close()
	e.progress.End()
	e.progress = e.app.Progress() // the rate of looking is not that of storing
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

// open opens the queue. made says that there was none: nothing in it is started before somebody
// serves the directory, which may be misspelt.
func (e *enqueuing) open(ctx context.Context) (queue *local.Intake, made bool, err error) {
	queue, err = local.OpenIntake(ctx, e.flags.data, false)
	if !errors.Is(err, fs.ErrNotExist) {
		return queue, false, err
	}
	queue, err = local.OpenIntake(ctx, e.flags.data, true)
	return queue, true, err
}

// changed answers a line that is bad now. It was told of, or the file is not what it was.
func (e *enqueuing) changed(line intake.Line) error {
	if e.flags.keepGoing {
		return nil
	}
	return fmt.Errorf("the file was changed while it was read, at line %d", line.Number)
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

// warnOfAgents tells of names that the servers of the directory do not have. They may come with the
// next start, so that it is no error.
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
			e.app.Warn("agent_not_deployed", fmt.Sprintf("line %d: the server on %s had no agent %q when it was last started (it had %s); without one the run is not started",
				e.agents[name], e.flags.data, name, display.Listed(slices.Sorted(maps.Keys(have)))))
		}
	}
	return nil
}

// warnOfTenant tells of a tenant that is perhaps misspelt: servers of the directory have agents,
// and it has none. If none has agents, it is the directory that may be misspelt. The queue works
// without a server, so that it is no error.
func (e *enqueuing) warnOfTenant(ctx context.Context, queue *local.Intake, made bool) error {
	usual, err := queue.Agents(ctx, access.Tenant)
	e.progress.End()
	switch {
	case err != nil:
	case made:
		e.app.Warn("data_made", fmt.Sprintf("there was no data in %s, and it was made; no server has served it yet. If yours works on another directory, name that with --data",
			e.flags.data))
	case len(usual) == 0:
		e.app.Warn("data_not_served", fmt.Sprintf("no server has served %s with an agent yet. If yours works on another directory, name that with --data", e.flags.data))
	default:
		e.app.Warn("tenant_not_served", fmt.Sprintf("no server on %s has had the tenant %s so far; a token of it makes it known: dormouse tokens add NAME --tenant %[2]s",
			e.flags.data, e.flags.tenant))
	}
	return err
}
