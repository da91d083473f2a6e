//go:build unix

package local

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/model/recording"
)

// Another process may hold the file for ever, and a pipe may be full: that keeps no server from its
// end.
func TestAFileThatNobodyGetsIsNotWaitedForAtTheEnd(t *testing.T) {
	// not the test's: what is given up here may still write when the test is over
	dir, err := os.MkdirTemp("", "held")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	held, full := filepath.Join(dir, "held.jsonl"), filepath.Join(dir, "pipe")
	f, err := os.Create(held)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(full, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(full, os.O_RDWR, 0) // who opens it and does not read
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	long := recording.Conversation{ID: "c", Messages: []core.Message{{Role: core.RoleUser, Parts: core.TextParts(string(make([]byte, 1<<20)))}}}
	for _, file := range []string{held, full} {
		if err := recordTo(file, nil, slog.New(slog.DiscardHandler)).add(ctx, long); err == nil {
			t.Errorf("%s was written", file)
		}
	}
}
