package local

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func random(b []byte) { rand.Read(b) }

func TestProcessesThatStartAtOnceHaveOneLinkKey(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	found := make([][]byte, 8)
	for i := range found {
		wg.Go(func() {
			keys, err := readLinkKeys(dir, random)
			if err != nil || len(keys) != 1 || len(keys[0]) != linkKeyBytes {
				t.Errorf("%d keys, %v", len(keys), err)
				return
			}
			found[i] = keys[0]
		})
	}
	wg.Wait()
	for _, key := range found {
		if !bytes.Equal(key, found[0]) {
			t.Error("two processes sign with different keys")
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if info, err := os.Stat(filepath.Join(dir, linkKeysFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
}

func TestAFileOfLinkKeysIsReadAsItIs(t *testing.T) {
	long := strings.Repeat("ab", linkKeyBytes)
	for text, want := range map[string]int{long: 1, long + "\n\n" + long + "cd\n": 2, "": 0, "ab\n": -1, long + "\nnonsense": -1} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, linkKeysFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		keys, err := readLinkKeys(dir, random)
		if want < 0 && (err == nil || strings.Contains(err.Error(), "nonsense")) || want >= 0 && (err != nil || len(keys) != want) {
			t.Errorf("%q: %d keys, %v", text, len(keys), err)
		}
	}
}
