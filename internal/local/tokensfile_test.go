package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
)

// Each of many who add or remove a token at once sees what the one before left.
func TestUpdatesOfATokensFileAtOnceAllCount(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	victims := ""
	for i := range 8 {
		victims += line(fmt.Sprintf("victim%d", i), "acme", fmt.Sprintf("v%d", i), access.Admin)
	}
	if err := os.WriteFile(file, []byte(victims), 0o640); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	update := func(change func(text string) string) {
		wg.Go(func() {
			if err := UpdateTokens(file, false, func(text string, _ access.Keys) (string, error) { return change(text), nil }); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range 8 {
		update(func(text string) string {
			return text + line(fmt.Sprintf("new%d", i), "acme", fmt.Sprintf("n%d", i), access.Read)
		})
		update(func(text string) string {
			return strings.Replace(text, line(fmt.Sprintf("victim%d", i), "acme", fmt.Sprintf("v%d", i), access.Admin), "", 1)
		})
	}
	wg.Wait()
	_, keys, err := ReadTokens(file)
	if err != nil || len(keys.Grants()) != 8 {
		t.Errorf("%d tokens, %v", len(keys.Grants()), err)
	}
	for _, g := range keys.Grants() {
		if !strings.HasPrefix(g.Name, "new") {
			t.Errorf("%s was removed, and is there", g.Name)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file's mode is %v, %v", info.Mode(), err)
	}
}

func TestAnUpdateThroughASymbolicLinkIsSeenByWhoeverReadsItsTarget(t *testing.T) {
	dir := t.TempDir()
	file, other := filepath.Join(dir, "tokens"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, []byte(line("a", "acme", "one", access.Read)), 0o600), os.Symlink(file, other)); err != nil {
		t.Fatal(err)
	}
	if err := UpdateTokens(other, false, func(string, access.Keys) (string, error) { return "", nil }); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || len(text) > 0 {
		t.Errorf("%q, %v", text, err)
	}
}

func TestAWrongLineOrARefusalLeavesATokensFileAsItIs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	never := func(string, access.Keys) (string, error) { return "", errors.New("not this time") }
	if err := UpdateTokens(file, true, never); err == nil || err.Error() != "not this time" {
		t.Error(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Error("a file was made")
	}
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := UpdateTokens(file, true, never); !errors.Is(err, access.ErrLines) || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}
