package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// program is a function, and what was measured of each of its starts.
type program struct {
	name, binary string
	size         int64
	measured     map[string][]float64
}

// What is measured of a start, in the order of the table, and of the later invocations.
var measures = []string{"asks for an event, ms", "answers it, ms", "CPU, ms", "page faults", "peak memory, MB"}

const warm = "answers another, ms"

// requests are those of a step that asks the model and calls a tool. The baseline makes them in
// this order; a start counts only if the program made these and no others.
const requests = "UpdateItem GetItem GetItem Query PutItem UpdateItem ConverseStream PutItem UpdateItem look PutItem UpdateItem SendMessage"

// compare starts both programs in turn, and prints a table.
func compare(ctx context.Context, out io.Writer, w *world, dir string, starts int) error {
	programs := []*program{{name: "functions/step"}, {name: "internal/proof/coldstart/baseline"}}
	for _, p := range programs {
		if err := p.build(ctx, dir); err != nil {
			return err
		}
	}
	for n := range starts {
		for i := range programs {
			if err := programs[(n+i)%len(programs)].start(ctx, w); err != nil {
				return err
			}
		}
	}
	return table(out, programs[0], programs[1], starts)
}

func (p *program) build(ctx context.Context, dir string) (err error) {
	p.measured = map[string][]float64{}
	if p.binary, err = build(ctx, module+"/"+p.name, dir); err != nil {
		return err
	}
	info, err := os.Stat(p.binary)
	if err == nil {
		p.size = info.Size()
	}
	return err
}

// mostTries limits how often a start is repeated. One may need it: the SDK closes the body of a
// request once it has the answer, and on the loopback that can be before it was written to its end,
// which breaks the connection.
const mostTries = 20

func (p *program) start(ctx context.Context, w *world) error {
	var did string
	for range mostTries {
		event, err := w.start(ctx)
		if err != nil {
			return err
		}
		w.requests()
		proc, err := launch(ctx, p.binary, w.environment(), event, share{})
		if err != nil {
			return err
		}
		at, failed := proc.wait(ctx)
		u := proc.usage()
		did = w.requests()
		w.drain(ctx)
		counts := did == counted(requests)
		if counts && failed == nil {
			p.note(proc.asked.Sub(proc.began), at.Sub(proc.began), u)
			failed = p.again(ctx, w, proc)
		}
		proc.end()
		switch {
		case counts && failed != nil:
			return fmt.Errorf("%s: %w\n%s", p.name, failed, proc.log.String())
		case counts:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
	return fmt.Errorf("%s: no start of %d made the expected requests (%s); the last one made %s", p.name, mostTries, counted(requests), did)
}

// again lets a process that has started do the same several times more.
func (p *program) again(ctx context.Context, w *world, proc *process) error {
	for range warmed {
		event, err := w.start(ctx)
		if err != nil {
			return err
		}
		from := time.Now()
		proc.events <- event
		at, err := proc.wait(ctx)
		if err == nil { // one may fail, as a first one may
			p.measured[warm] = append(p.measured[warm], milliseconds(at.Sub(from)))
		}
		w.drain(ctx)
	}
	return nil
}

const warmed = 5

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (p *program) note(asked, answered time.Duration, u usage) {
	for i, v := range []float64{milliseconds(asked), milliseconds(answered), milliseconds(u.cpu), float64(u.faults), float64(u.peak) / 1e6} {
		p.measured[measures[i]] = append(p.measured[measures[i]], v)
	}
}

func table(out io.Writer, p, baseline *program, starts int) error {
	lines := []string{fmt.Sprintf("%d starts of each program, in turn: median (first to third quartile)", starts),
		fmt.Sprintf("%-24s%26s%26s%8s", "", "step", "baseline", "ratio")}
	for _, name := range append(measures, warm) {
		a, b := p.measured[name], baseline.measured[name]
		lines = append(lines, fmt.Sprintf("%-24s%26s%26s%8.2f", name, spread(a), spread(b), quantile(a, 2)/quantile(b, 2)))
	}
	lines = append(lines, fmt.Sprintf("%-24s%26.1f%26.1f%8.2f", "program, MB", float64(p.size)/1e6, float64(baseline.size)/1e6, float64(p.size)/float64(baseline.size)))
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}

func spread(all []float64) string {
	return fmt.Sprintf("%.1f (%.1f to %.1f)", quantile(all, 2), quantile(all, 1), quantile(all, 3))
}

// quantile is a quartile.
func quantile(all []float64, quarter int) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[(len(sorted)-1)*quarter/4]
}
