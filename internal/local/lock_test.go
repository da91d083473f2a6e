//go:build unix

package local

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// take locks as a process of its own would: locks belong to the open file, not to the process.
func take(t *testing.T, dir string) (l *lock, alone bool) {
	t.Helper()
	l, err := lockData(dir, "a", func() error {
		alone = true
		return nil
	})
	if err != nil || l.alone != alone {
		t.Fatalf("%+v, %v", l, err)
	}
	return l, alone
}

func TestOnlyTheFirstIsAlone(t *testing.T) {
	dir := t.TempDir()
	a, alone := take(t, dir)
	if !alone {
		t.Error("the first is not alone")
	}
	b, alone := take(t, dir)
	if alone {
		t.Error("the second is alone")
	}
	a.release()
	c, alone := take(t, dir)
	if alone {
		t.Error("the third is alone while the second lives")
	}
	b.release()
	c.release()
	d, alone := take(t, dir)
	if !alone {
		t.Error("who comes after all others have gone is not alone")
	}
	d.release()
}

func TestTheSecondWaitsUntilTheFirstHasPutThingsRight(t *testing.T) {
	dir := t.TempDir()
	type taken struct {
		l   *lock
		err error
	}
	second := make(chan taken, 1)
	a, err := lockData(dir, "a", func() error {
		started := make(chan struct{})
		go func() {
			close(started)
			l, err := lockData(dir, "a", func() error { return nil })
			second <- taken{l, err}
		}()
		<-started
		select {
		case <-second:
			t.Error("the second works before the first is ready")
		default:
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got := <-second
	if got.err != nil {
		t.Fatal(got.err)
	}
	got.l.release()
	a.release()
}

func TestALockWhoseWorkFailedIsFree(t *testing.T) {
	dir := t.TempDir()
	wrong := errors.New("wrong")
	if _, err := lockData(dir, "a", func() error { return wrong }); !errors.Is(err, wrong) {
		t.Fatalf("got %v", err)
	}
	l, alone := take(t, dir)
	if !alone {
		t.Error("the lock is held by nobody and refused")
	}
	l.release()
	if _, err := lockData(dir+"/nowhere", "a", func() error { return nil }); err == nil {
		t.Error("a directory that is not there was locked")
	}
}

func TestWhoComesWithAnotherMarkIsTurnedAway(t *testing.T) {
	dir := t.TempDir()
	nothing := func() error { return nil }
	a, _ := take(t, dir)
	b, _ := take(t, dir)
	a.release() // what it wrote stands while somebody is there
	if _, err := lockData(dir, "another mark", nothing); !errors.Is(err, errMarked) {
		t.Errorf("got %v", err)
	}
	b.release()
	c, err := lockData(dir, "another mark", nothing)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockData(dir, "a", nothing); !errors.Is(err, errMarked) {
		t.Errorf("after a change of marks: %v", err)
	}
	c.release()
}

func TestAServerWithAnotherPolicyIsNotStartedBesideOne(t *testing.T) {
	r := newRig(t, nothing)
	r.deploy(allowed)
	r.start()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	for _, other := range []struct{ policy, says string }{{"deny: [pay]\n", "a different policy"}, {"deny: []\n", "a different policy"}} {
		if err := os.WriteFile(file, []byte(other.policy), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Start(t.Context(), Options{Addr: "127.0.0.1:0", Data: r.data, Agents: r.agents, Tools: r.tools, Hooks: r.hooks, Policy: file, Logger: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), other.says) {
			t.Errorf("%q: %v", other.policy, err)
		}
	}
	r.start() // with the same one, which is none
}
