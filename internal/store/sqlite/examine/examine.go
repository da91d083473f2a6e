// Package examine looks for damage in a file of the store, and changes nothing.
package examine

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/mark"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/tables"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/txfile"
)

// Finding is a defect of a file.
type Finding struct {
	Code   FindingCode `json:"code"`
	Tenant string      `json:"tenant,omitempty"`
	Thread string      `json:"thread,omitempty"`
	Run    string      `json:"run,omitempty"`
	Detail string      `json:"detail"`
}

// FindingCode identifies the kind of a finding, for programs.
type FindingCode string

const (
	// FindMissing: the database existed and is missing
	FindMissing FindingCode = "database_missing"
	// FindOlder: it is another database, or an older copy
	FindOlder     FindingCode = "database_replaced"
	FindMalformed FindingCode = "database_malformed" // SQLite finds its structure broken
	FindNewer     FindingCode = "database_newer"     // a newer version of the program wrote it
	FindForeign   FindingCode = "database_foreign"   // the database of another program
	// FindLog: the write-ahead log has commits after one that cannot be read
	FindLog  FindingCode = "log_damaged"
	FindHead FindingCode = "head_unreadable" // the state of a run
	// FindNewerHead: a newer version of the program wrote the state of a run
	FindNewerHead FindingCode = "head_newer"
	// FindJournal: a segment is missing, does not follow the one before, or cannot be read
	FindJournal FindingCode = "journal_broken"
	FindRecord  FindingCode = "record_unreadable" // of a run that is done
	// FindWebhook: a webhook, or the note that an endpoint is disabled
	FindWebhook FindingCode = "webhook_unreadable"
	// FindUnfinished: the time ran out before everything was examined
	FindUnfinished FindingCode = "not_examined"
)

// Report is the result of an examination.
type Report struct {
	Findings []Finding
	Empty    bool  // nothing was ever stored in it
	Threads  int   // threads whose head and journal were examined
	Records  int   // records of runs that are done
	LogBytes int64 // size of the write-ahead log
}

// mostFindings limits the findings of a report.
const mostFindings = 100

// Damaged reports whether the file is damaged. An unfinished examination and data of a newer
// version do not count as damage.
func (r Report) Damaged() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.Code != FindUnfinished && f.Code != FindNewer && f.Code != FindNewerHead
	})
}

// Newer reports whether a newer version wrote the file's tables, so that this one can read none of
// it. Single runs of a newer version are a [FindNewerHead] and leave the others readable.
func (r Report) Newer() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == FindNewer })
}

// File checks the file at path without changing it: its structure, that every head can be read
// and ends the chain of its journal, every segment and every record. It takes as long as ctx
// allows, and calls progress from time to time, unless it is nil. It checks committed data, even
// while a process works on the file.
func File(ctx context.Context, path string, progress func(threads int)) (r Report, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return r, err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if err := mark.WholeBefore(path); err != nil {
		return Report{Findings: []Finding{{Code: FindMissing, Detail: err.Error()}}}, nil
	}
	if _, err := os.Stat(path); err != nil {
		return r, err
	}
	if info, err := os.Stat(path + "-wal"); err == nil {
		r.LogBytes = info.Size()
	}
	// The last connection that can write copies the log and removes it; this connection cannot
	// write. Without a log no process is at work, and no index of the log is needed, which this
	// connection would have to create.
	query := url.Values{"mode": {"ro"}, "_pragma": dbfile.ReadPragmas()}
	if _, err := os.Stat(path + "-wal"); errors.Is(err, os.ErrNotExist) {
		query.Set("immutable", "1")
	}
	broken, err := dbfile.BrokenLog(ctx, path+"-wal")
	if err != nil {
		return r, examined(ctx, &r, err)
	}
	if broken {
		r.Findings = append(r.Findings, Finding{Code: FindLog, Detail: "part of the write-ahead log cannot be read, and commits after it would be lost"})
	}
	pool, err := sql.Open("sqlite", dbfile.DataSource(path, query))
	if err != nil {
		return r, err
	}
	defer pool.Close()
	conn, err := pool.Conn(ctx)
	if err == nil {
		defer conn.Close()
		err = (&examination{conn: conn, report: &r, progress: progress}).all(ctx, path)
	}
	return r, examined(ctx, &r, err)
}

// examined adds the error that ended an examination to its report.
func examined(ctx context.Context, r *Report, err error) error {
	switch {
	case err == nil, errors.Is(err, errEnough):
		return nil
	case ctx.Err() != nil:
		r.Findings = append(r.Findings, Finding{Code: FindUnfinished, Detail: fmt.Sprintf("the time ran out after %d threads and %d records", r.Threads, r.Records)})
		return nil
	case errors.Is(err, txfile.ErrNewerFile):
		r.Findings = []Finding{{Code: FindNewer, Detail: err.Error()}}
		return nil
	case dbfile.Reason(err) == engine.ErrDamaged, errors.Is(err, engine.ErrDamaged):
		r.Findings = append(r.Findings, Finding{Code: FindMalformed, Detail: err.Error()})
		return nil
	}
	return err
}

var errEnough = errors.New("sqlite: found enough")

type examination struct {
	conn     *sql.Conn
	report   *Report
	progress func(int)
}

func (e *examination) found(f Finding) error {
	e.report.Findings = append(e.report.Findings, f)
	if len(e.report.Findings) >= mostFindings {
		return errEnough
	}
	return nil
}

func (e *examination) all(ctx context.Context, path string) error {
	var all, ours int
	if err := e.conn.QueryRowContext(ctx, "SELECT count(*), count(*) FILTER (WHERE name = 'migrations') FROM sqlite_master").Scan(&all, &ours); err != nil {
		return err
	}
	if ours == 0 {
		if e.report.Empty = all == 0; !e.report.Empty {
			return e.found(Finding{Code: FindForeign, Detail: "it is a database of another program"})
		}
		return e.mark(ctx, path, nil)
	}
	if err := e.structure(ctx); err != nil {
		return err
	}
	var version int
	if err := e.conn.QueryRowContext(ctx, "SELECT coalesce(max(version), 0) FROM migrations").Scan(&version); err != nil {
		return err
	}
	if version > len(tables.Migrations) {
		return fmt.Errorf("%w (its schema is %d, this program knows %d)", txfile.ErrNewerFile, version, len(tables.Migrations))
	}
	if version == len(tables.Migrations) {
		if err := e.mark(ctx, path, e.conn); err != nil {
			return err
		}
	}
	if err := e.heads(ctx); err != nil {
		return err
	}
	if err := e.records(ctx); err != nil || version < len(tables.Migrations) {
		return err
	}
	return e.endpoints(ctx)
}

// endpoints checks what says where notices go. There are few.
func (e *examination) endpoints(ctx context.Context) error {
	rows, err := e.conn.QueryContext(ctx, "SELECT tenant, id, body, 1 FROM webhooks UNION ALL SELECT tenant, endpoint, body, 0 FROM disabled_endpoints")
	if err != nil {
		return err
	}
	return dbfile.EachRow(rows, func(s dbfile.Scanner) error {
		f := Finding{Code: FindWebhook}
		var id string
		var raw []byte
		var hook bool
		err := s.Scan(&f.Tenant, &id, &raw, &hook)
		if err == nil && hook {
			err = json.Unmarshal(raw, new(notice.Webhook))
		} else if err == nil {
			err = json.Unmarshal(raw, new(notice.Disabled))
		}
		if err == nil {
			return nil
		}
		f.Detail = fmt.Sprintf("what is stored of the endpoint %s cannot be read: %v", id, err)
		return e.found(f)
	})
}

// structure runs SQLite's own check. Its first message counts, because the others often follow from
// it.
func (e *examination) structure(ctx context.Context) error {
	rows, err := e.conn.QueryContext(ctx, "PRAGMA quick_check(10)")
	if err != nil {
		return err
	}
	return dbfile.EachRow(rows, func(s dbfile.Scanner) error {
		var line string
		if err := s.Scan(&line); err != nil || line == "ok" {
			return err
		}
		return e.found(Finding{Code: FindMalformed, Detail: line})
	})
}

// mark compares the file with its mark; conn is nil if the file has no tables.
func (e *examination) mark(ctx context.Context, path string, conn *sql.Conn) error {
	err := (&mark.Mark{Path: path}).Compare(ctx, conn)
	if errors.Is(err, mark.ErrLost) {
		return e.found(Finding{Code: FindOlder, Detail: err.Error()})
	}
	return err
}

// heads checks every head and its journal. It reads them page by page, so that no read transaction
// delays the copy of the log for long.
func (e *examination) heads(ctx context.Context) error {
	const page = "SELECT " + tables.HeadColumns + " FROM heads WHERE (tenant, thread) > (?, ?) ORDER BY tenant, thread LIMIT 100"
	tenant, thread := "", ""
	for {
		var heads []core.Head
		n := 0
		rows, err := e.conn.QueryContext(ctx, page, tenant, thread)
		if err != nil {
			return err
		}
		err = dbfile.EachRow(rows, func(s dbfile.Scanner) error {
			n++
			var h core.Head
			err := tables.ScanHead(s, &h)
			tenant, thread = h.Tenant, h.Thread
			switch {
			case errors.Is(err, engine.ErrUnreadable):
				return e.found(Finding{Code: FindHead, Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, Detail: err.Error()})
			case errors.Is(err, engine.ErrNewerSchema), err == nil && h.Schema > core.SchemaVersion:
				return e.found(Finding{Code: FindNewerHead, Tenant: h.Tenant, Thread: h.Thread, Run: h.Run,
					Detail: "a newer version of the program wrote this run; only that version continues it"})
			case err == nil:
				heads = append(heads, h)
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, h := range heads {
			if err := e.journal(ctx, h); err != nil {
				return err
			}
		}
		if e.report.Threads += len(heads); e.progress != nil {
			e.progress(e.report.Threads)
		}
		if n == 0 {
			return nil
		}
	}
}

// journal compares the segments with the head. It skips what the run has added since the head was
// read: a segment that a head has named never changes.
func (e *examination) journal(ctx context.Context, h core.Head) error {
	const query = "SELECT seq, w, prev, body FROM segments WHERE tenant = ? AND thread = ? AND seq BETWEEN 1 AND ? ORDER BY seq"
	broken := func(detail string) error {
		return e.found(Finding{Code: FindJournal, Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, Detail: detail})
	}
	rows, err := e.conn.QueryContext(ctx, query, h.Tenant, h.Thread, h.Seq)
	if err != nil {
		return err
	}
	chain := []core.Segment{}
	var unreadable []string
	err = dbfile.EachRow(rows, func(s dbfile.Scanner) error {
		segment, err := tables.ScanSegment(s, h.Thread)
		if errors.Is(err, engine.ErrUnreadable) {
			unreadable = append(unreadable, err.Error())
			return nil
		}
		chain = append(chain, core.Segment{Seq: segment.Seq, W: segment.W, Prev: segment.Prev})
		return err
	})
	switch {
	case err != nil:
		return err
	case len(unreadable) > 0:
		return broken(strings.Join(unreadable, "; "))
	}
	if err := core.CheckChain(h, 1, chain); err != nil {
		return broken(err.Error())
	}
	return nil
}

func (e *examination) records(ctx context.Context) error {
	const page = "SELECT rowid, tenant, run, thread, body FROM archive WHERE rowid > ? ORDER BY rowid LIMIT 500"
	for last := int64(0); ; {
		n := 0
		rows, err := e.conn.QueryContext(ctx, page, last)
		if err != nil {
			return err
		}
		err = dbfile.EachRow(rows, func(s dbfile.Scanner) error {
			var f Finding
			var raw []byte
			n++
			err := s.Scan(&last, &f.Tenant, &f.Run, &f.Thread, &raw)
			if err == nil {
				err = json.Unmarshal(raw, new(core.Record))
			}
			if err != nil {
				f.Code, f.Detail = FindRecord, "the record of a finished run cannot be read: "+err.Error()
				return e.found(f)
			}
			return nil
		})
		if e.report.Records += n; err != nil || n == 0 {
			return err
		}
	}
}
