//go:build linux

package faults

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// recorded are the calls whose order and contents make up what a disk was told.
const recorded = "pwrite64,write,fsync,fdatasync,ftruncate,link,linkat"

// event is a call on one of the store's files, or an acknowledgement.
type event struct {
	kind   kind
	file   string // its base name
	from   string // of linked: the other name
	at     int64  // offset, or the new length
	data   []byte
	flush  int  // of flushed and flushFailed: the event with which the flush began
	unsure bool // of a write: the process was killed meanwhile
	ack    string
}

type kind int

const (
	written kind = iota
	cut
	flushing    // a flush begins
	flushed     // and succeeds: what was written before it began is on the disk
	flushFailed // or fails
	linked      // the file has a second name
	acknowledged
)

// record runs a child and appends what it did to its disk, and acknowledged, to events.
func record(t *testing.T, dir string, acks int, events []event, inject ...string) ([]event, life) {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "trace")
	args := []string{"-o", trace, "-y", "-s", "70000", "-e", "trace=" + recorded}
	// a new database is written under a name that nobody knows before
	if _, err := os.Stat(filepath.Join(dir, "data", database)); err == nil {
		for _, path := range []string{"acks", "data/" + database, "data/" + database + "-wal", "data/" + database + ".mark"} {
			args = append(args, "-P", filepath.Join(dir, path))
		}
	}
	for _, fault := range inject {
		args = append(args, "-e", "inject="+fault)
	}
	l := live(t, dir, acks, args...)
	f, err := os.Open(trace)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 1<<20)
	r := reader{dir: dir, began: map[string]unfinished{}}
	for n := 1; ; n++ {
		line, err := lines.ReadString('\n')
		if err != nil {
			return events, l
		}
		if events, err = r.read(strings.TrimSuffix(line, "\n"), events); err != nil {
			t.Fatalf("line %d of the trace: %v: %.200s", n, err, line)
		}
	}
}

// reader reads a trace in which calls of several threads interleave.
type reader struct {
	dir   string // calls on files that are elsewhere do not count
	began map[string]unfinished
}

// database is the base name of a store's file.
const database = "dormouse.db"

// unfinished is a call of a thread that another thread's line interrupts.
type unfinished struct {
	call  string
	index int // of its event
}

func (r *reader) read(line string, events []event) ([]event, error) {
	thread, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimLeft(rest, " ")
	if strings.HasPrefix(rest, "+++") || strings.HasPrefix(rest, "---") || strings.HasPrefix(rest, "???") {
		return events, nil
	}
	if strings.HasPrefix(rest, "<...") {
		u := r.began[thread]
		delete(r.began, thread)
		// the process was killed: a write may have been done, a flush has not ended
		if strings.HasSuffix(rest, " = ?") {
			if u.index < len(events) {
				events[u.index].unsure = true
			}
			return events, nil
		}
		return ended(events, u, strings.Contains(rest, ") = -1"), rest)
	}
	before := len(events)
	u := unfinished{elsewhere, before}
	if r.counts(rest) {
		var err error
		if events, err = begun(rest, events); err != nil {
			return events, err
		}
		u.call = rest[:strings.IndexByte(rest, '(')]
	}
	if strings.HasSuffix(rest, "<unfinished ...>") {
		r.began[thread] = u
		return events, nil
	}
	if strings.HasSuffix(rest, " = ?") {
		if before < len(events) {
			events[before].unsure = true
		}
		return events, nil
	}
	return ended(events, u, strings.Contains(rest[strings.LastIndexByte(rest, ')'):], "= -1") || failed(rest), rest)
}

// elsewhere stands for a call on a file that does not count.
const elsewhere = "elsewhere"

// counts says whether a call is on one of the store's files or on their directory.
func (r *reader) counts(call string) bool {
	if r.dir == "" || strings.HasPrefix(call, "link") {
		return true
	}
	_, path, _ := strings.Cut(call, "<")
	path, _, _ = strings.Cut(path, ">")
	return path == filepath.Join(r.dir, "data") || path == filepath.Join(r.dir, "acks") || strings.HasPrefix(path, filepath.Join(r.dir, "data", database))
}

// failed looks at the result of a call, behind its closing parenthesis.
func failed(line string) bool {
	i := strings.LastIndex(line, ") = ")
	return i >= 0 && strings.HasPrefix(line[i+4:], "-1")
}

// begun adds what a call does.
func begun(call string, events []event) ([]event, error) {
	name, args, ok := strings.Cut(call, "(")
	if !ok {
		return events, fmt.Errorf("no call")
	}
	if strings.HasPrefix(name, "link") {
		names := strings.Split(args, `"`)
		if len(names) < 5 {
			return events, fmt.Errorf("not two names")
		}
		return append(events, event{kind: linked, from: filepath.Base(names[1]), file: filepath.Base(names[3])}), nil
	}
	_, args, _ = strings.Cut(args, "<")
	path, args, ok := strings.Cut(args, ">")
	if !ok {
		return events, fmt.Errorf("no file")
	}
	e := event{file: filepath.Base(path)}
	switch name {
	case "fsync", "fdatasync":
		e.kind = flushing
	case "ftruncate":
		e.kind = cut
		e.at = number(args)
	case "pwrite64", "write":
		text, rest, err := quoted(strings.TrimPrefix(args, ", "))
		if err != nil {
			return events, err
		}
		if e.file == "acks" {
			for _, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
				events = append(events, event{kind: acknowledged, ack: line})
			}
			return events, nil
		}
		e.data = text
		rest = strings.TrimPrefix(rest, ", ")
		_, offset, _ := strings.Cut(rest, ", ")
		e.at = number(", " + offset)
	default:
		return events, fmt.Errorf("unknown call %s", name)
	}
	return append(events, e), nil
}

// ended takes back what failed, and says how a flush ended.
func ended(events []event, u unfinished, bad bool, line string) ([]event, error) {
	switch u.call {
	case "":
		return events, fmt.Errorf("the end of no call")
	case "fsync", "fdatasync":
		e := event{kind: flushed, file: events[u.index].file, flush: u.index}
		if bad {
			e.kind = flushFailed
		}
		return append(events, e), nil
	case elsewhere:
		return events, nil
	}
	if bad && u.index < len(events) {
		events[u.index].data, events[u.index].kind = nil, written // it did nothing
	}
	return events, nil
}

func number(args string) int64 {
	text := strings.TrimLeft(args, ", ")
	i := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if i >= 0 {
		text = text[:i]
	}
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// quoted reads a text as C writes it, with octal escapes.
func quoted(args string) (text []byte, rest string, err error) {
	if !strings.HasPrefix(args, `"`) {
		return nil, "", fmt.Errorf("no text")
	}
	for i := 1; i < len(args); i++ {
		switch c := args[i]; c {
		case '"':
			if strings.HasPrefix(args[i+1:], "...") {
				return nil, "", fmt.Errorf("the text is cut")
			}
			return text, args[i+1:], nil
		case '\\':
			i++
			if at := strings.IndexByte(`ntrvfabe"\`, args[i]); at >= 0 {
				text = append(text, "\n\t\r\v\f\a\b\x1b\"\\"[at])
				continue
			}
			n, digits := 0, 0
			for digits < 3 && i < len(args) && args[i] >= '0' && args[i] <= '7' {
				n, i, digits = n*8+int(args[i]-'0'), i+1, digits+1
			}
			if digits == 0 {
				return nil, "", fmt.Errorf("unknown escape %q", args[i])
			}
			i--
			text = append(text, byte(n))
		default:
			text = append(text, c)
		}
	}
	return nil, "", fmt.Errorf("the text does not end")
}
