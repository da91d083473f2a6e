// Package copies multiplies a waiting thread of a store, so that a benchmark can measure a store
// with a million of them. Running each of them would take an hour.
package copies

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/tables"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/txfile"
)

// Drawn is what differs between two threads that the same requests led to the same place: the
// random texts of their ids, and when they began.
type Drawn struct {
	Thread     string // without the prefix
	Claim      string
	Suspension string // the random part of its id
	Born       int64
}

// Run and ID return the ids of the thread's first run and of its suspension.
func (d Drawn) Run() string { return "run_" + d.Thread + "_0" }
func (d Drawn) ID() string  { return "sus_2_" + d.Suspension + "_" + d.Thread }

// Template is a thread to copy, as it is stored.
type Template struct {
	Drawn
	head     []any
	segments [][]any
}

const (
	heads = `tenant, thread, run, agent, v, st, epoch, rev, cid, seq, seg, ev, sigs, lease, claim, tries, dl, not_before,
		nsus, has_end, oldest, born, due, calls, timed, body, urgent, asks, at`
	segments = "tenant, thread, seq, w, prev, body, feed, marks"
	// where the columns that tell what was drawn are among those of heads
	thread, claim, born, calls = 1, 14, 21, 23
	// and where the body is among those of heads and of segments
	headBody, body = 25, 5
)

// Of reads a thread that waits for one answer. It has rows in the tables of heads and segments
// only.
func Of(ctx context.Context, db *sqlite.DB, tenant, name string) (t Template, err error) {
	where := " WHERE tenant = ? AND thread = ?"
	found, err := rows(ctx, db, "SELECT "+heads+" FROM heads"+where, tenant, name)
	if err != nil {
		return t, err
	}
	if t.segments, err = rows(ctx, db, "SELECT "+segments+" FROM segments"+where+" ORDER BY seq", tenant, name); err != nil {
		return t, err
	}
	if len(found) != 1 {
		return t, fmt.Errorf("copies: there is no thread %s", name)
	}
	for _, s := range t.segments {
		if s[body], err = tables.UnpackBody(s[body], name); err != nil {
			return t, err
		}
	}
	t.head = found[0]
	if t.head[headBody], err = tables.UnpackBody(t.head[headBody], name); err != nil {
		return t, err
	}
	asked := suspension.FindStringSubmatch(t.head[calls].(string))
	if asked == nil {
		return t, fmt.Errorf("copies: thread %s waits for no answer", name)
	}
	t.Drawn = Drawn{Thread: strings.TrimPrefix(name, "thr_"), Claim: t.head[claim].(string), Suspension: asked[1], Born: t.head[born].(int64)}
	return t, nil
}

var suspension = regexp.MustCompile(`"sus":"sus_2_([a-z2-7]+)_`)

// rows reads all columns of some rows.
func rows(ctx context.Context, db *sqlite.DB, query string, args ...any) (all [][]any, err error) {
	columns := strings.Count(query[:strings.Index(query, " FROM ")], ",") + 1
	err = txfile.Read(ctx, db.File, func(s dbfile.Scanner) error {
		row, to := make([]any, columns), make([]any, columns)
		for i := range row {
			to[i] = &row[i]
		}
		all = append(all, row)
		return s.Scan(to...)
	}, query, args...)
	return all, err
}

// Write adds a copy for each of some draws, in one transaction. Everything that the store derives
// from rows, it derives from these. A copy that is there already stays as it is.
func (t Template) Write(ctx context.Context, db *sqlite.DB, draws []Drawn) error {
	_, err := txfile.Write(ctx, db.File, func(tx *txfile.Tx) (struct{}, error) {
		for _, d := range draws {
			if err := t.write(tx, d); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	})
	return err
}

func (t Template) write(tx *txfile.Tx, d Drawn) error {
	c := copying{t.Drawn, d.Born - t.Born, strings.NewReplacer(t.Thread, d.Thread, t.Claim, d.Claim, t.Suspension, d.Suspension)}
	head := c.row(t.head)
	head[headBody] = tables.PackBody([]byte(head[headBody].(string)), "thr_"+d.Thread)
	if _, err := tx.Exec(insert("heads", heads), head...); err != nil {
		return err
	}
	for _, s := range t.segments {
		row := c.row(s)
		row[body] = tables.PackBody([]byte(row[body].(string)), "thr_"+d.Thread)
		if _, err := tx.Exec(insert("segments", segments), row...); err != nil {
			return err
		}
	}
	return nil
}

func insert(table, columns string) string {
	return "INSERT INTO " + table + " (" + columns + ") VALUES (?" + strings.Repeat(", ?", strings.Count(columns, ",")) + ") ON CONFLICT DO NOTHING"
}

// copying turns what is stored of one thread into what is stored of another.
type copying struct {
	from  Drawn
	later int64 // in milliseconds
	names *strings.Replacer
}

func (c copying) row(from []any) []any {
	to := make([]any, len(from))
	for i, v := range from {
		switch v := v.(type) {
		case string:
			to[i] = milliseconds.ReplaceAllStringFunc(c.names.Replace(v), func(digits string) string {
				n, _ := strconv.ParseInt(digits, 10, 64)
				return strconv.FormatInt(c.time(n), 10)
			})
		case int64:
			to[i] = c.time(v)
		default:
			to[i] = v
		}
	}
	return to
}

var milliseconds = regexp.MustCompile(`\b\d{13}\b`)

// time moves a number that is a time: at most some years after the thread began, in milliseconds,
// or in microseconds, as a place in the feed is.
func (c copying) time(n int64) int64 {
	const years = 5 * 366 * 24 * 3600 * 1000
	switch {
	case n >= c.from.Born && n < c.from.Born+years:
		return n + c.later
	case n >= c.from.Born*1000 && n < (c.from.Born+years)*1000:
		return n + c.later*1000
	}
	return n
}
