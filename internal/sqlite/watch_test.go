package sqlite_test

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
)

func TestWatchersAreToldOfTheirThreadOnce(t *testing.T) {
	db := open(t, newFile(t), options(t, enginetest.AtMilli(1000)))
	start := func(tenant, thread string) {
		t.Helper()
		if _, err := db.Start(t.Context(), engine.StartRequest{Head: core.Head{Tenant: tenant, Thread: thread, Run: "run_x_0", Schema: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	told := func(changed <-chan struct{}) bool {
		select {
		case <-changed:
			return true
		default:
			return false
		}
	}
	mine, stop := db.Watch("a", "thr_1")
	other, stopOther := db.Watch("a", "thr_2")
	defer stopOther()
	start("b", "thr_1")
	if told(mine) {
		t.Error("another tenant's thread was taken for it")
	}
	start("a", "thr_1")
	if !told(mine) || told(mine) || told(other) {
		t.Error("not told once, or somebody else was")
	}
	if _, err := db.Start(t.Context(), engine.StartRequest{Head: core.Head{Tenant: "a", Thread: "thr_1", Run: "run_x_0", Schema: 1}}); err == nil || told(mine) {
		t.Error("told of a write that was refused", err)
	}
	stop()
	start("a", "thr_3")
}
