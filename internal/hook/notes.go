package hook

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/text/clip"
)

// NotesFile is the name of the file of a [FileMemory].
const NotesFile = "notes.jsonl"

const (
	mostNotes = 20      // of an agent of a tenant
	mostNote  = 2 << 10 // bytes of each of its two texts
	mostFile  = 1 << 20 // size in bytes at which the file is rewritten without obsolete notes
)

// FileMemory remembers what a user asked and what a run answered: the last 20 such pairs of each
// tenant and agent, in a file of dir with one JSON object per line. It is for a single machine. A
// pair is appended with one write. The file is sometimes rewritten without obsolete notes; what
// another process appends at that moment is lost.
func FileMemory(dir string) engine.Memory { return &fileMemory{dir: dir} }

type fileMemory struct {
	dir string
	mu  sync.Mutex
}

// note is one line of the file. The last one of a run counts.
type note struct {
	Tenant   string `json:"tenant"`
	Agent    string `json:"agent"`
	Run      string `json:"run"`
	Asked    string `json:"asked"`
	Answered string `json:"answered"`
}

func (n note) of() [2]string { return [2]string{n.Tenant, n.Agent} }

// Recall implements [engine.Memory].
func (m *fileMemory) Recall(_ context.Context, req engine.MemoryRequest) (string, error) {
	m.mu.Lock()
	notes, _, err := m.read()
	m.mu.Unlock()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, n := range lasting(notes) {
		if n.of() != [2]string{req.Tenant, req.Agent} || n.Run == req.Run {
			continue
		}
		if b.Len() == 0 {
			b.WriteString("Earlier questions and answers, oldest first:")
		}
		b.WriteString("\n- asked: " + n.Asked + "\n  answered: " + n.Answered)
	}
	return b.String(), nil
}

// Commit implements [engine.Memory]. A second call for the same run changes nothing.
func (m *fileMemory) Commit(_ context.Context, req engine.MemoryRequest) error {
	n := note{Tenant: req.Tenant, Agent: req.Agent, Run: req.Run}
	n.Asked, n.Answered = pair(req)
	if n.Asked == "" || n.Answered == "" {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	notes, size, err := m.read()
	if err != nil || slices.Contains(notes, n) {
		return err
	}
	if size > mostFile {
		return m.rewrite(lasting(append(notes, n)))
	}
	return m.append(n)
}

// pair returns the first message of the user and the last answer of the run.
func pair(req engine.MemoryRequest) (asked, answered string) {
	for _, msg := range req.Messages {
		if msg.RunID != req.Run {
			continue
		}
		switch {
		case msg.Role == core.RoleUser && asked == "":
			asked = oneLine(msg.Text())
		case msg.Role == core.RoleAssistant && said(msg) != "":
			answered = oneLine(said(msg))
		}
	}
	return asked, answered
}

// said is the output of a turn that finishes, otherwise its text.
func said(turn core.Message) string {
	for _, c := range turn.Calls {
		var finish struct {
			Output json.RawMessage `json:"output"`
		}
		if c.Name == core.FinishTool && json.Unmarshal(c.Arguments, &finish) == nil && finish.Output != nil {
			var text string
			if json.Unmarshal(finish.Output, &text) == nil {
				return text
			}
			return string(finish.Output)
		}
	}
	return turn.Text()
}

// oneLine shortens a text and puts it on one line.
func oneLine(text string) string {
	return clip.Bytes(strings.Join(strings.Fields(text), " "), mostNote, " ...")
}

// lasting returns the notes that still count, oldest first, limited to half of the file's maximum
// size.
func lasting(notes []note) []note {
	var kept []note
	seen, count, size := map[[2]string]map[string]bool{}, map[[2]string]int{}, 0
	for _, n := range slices.Backward(notes) {
		if seen[n.of()] == nil {
			seen[n.of()] = map[string]bool{}
		}
		if seen[n.of()][n.Run] || count[n.of()] == mostNotes || size > mostFile/2 {
			continue
		}
		seen[n.of()][n.Run] = true
		count[n.of()]++
		size += len(core.Encode(n))
		kept = append(kept, n)
	}
	slices.Reverse(kept)
	return kept
}

func (m *fileMemory) file() string { return filepath.Join(m.dir, NotesFile) }

// read skips invalid lines: a crash may have cut off the last one.
func (m *fileMemory) read() (notes []note, size int, err error) {
	text, err := os.ReadFile(m.file())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	for line := range strings.Lines(string(text)) {
		var n note
		if json.Unmarshal([]byte(line), &n) == nil && n.Run != "" {
			notes = append(notes, n)
		}
	}
	return notes, len(text), err
}

// append starts with a new line, in case the last one was cut off.
func (m *fileMemory) append(n note) error {
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(m.file(), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append([]byte("\n"), core.Encode(n)...))
	return errors.Join(err, f.Close())
}

func (m *fileMemory) rewrite(notes []note) error {
	f, err := os.CreateTemp(m.dir, NotesFile+".*") // readable only by its owner
	if err != nil {
		return err
	}
	var text []byte
	for _, n := range notes {
		text = append(append(text, '\n'), core.Encode(n)...)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), m.file())
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
