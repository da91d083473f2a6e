package enginetest

import (
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// A program that does not know what starts supply says that it reads [core.SchemaFamily] at most.
// It would run the agent without it, so it gets no such run.
func testSuppliedOlderProgram(t *storeTest) {
	h := created(thread)
	h.Supplied = strings.Repeat("5e", 32)
	h.Schema = core.SchemaOf(h)
	h.Due = 6000
	stored := t.startHead(h)
	t.equal("head", stored, h)
	older := claimOf(stored, "w1", 1000)
	older.Schema = core.SchemaFamily
	_, err := t.store.Claim(t.Context(), older)
	t.wantErr(err, engine.ErrNewerSchema)
	t.unchanged(stored)

	old := t.commit(finish(t.claim(stored, "w2", 1000), 1))
	t.equal("what the start supplied", old.Supplied, h.Supplied)
	t.wantRecord(old.Record())
	follow := old.Succeed("sha256:1", message("again"), 2000)
	w, err := t.store.Start(t.Context(), engine.StartRequest{Head: follow, Prior: &old, Due: 9000})
	t.must(err)
	follow.Due = 9000
	t.equal("the next head", w.Head, follow)
	if follow.Supplied != "" || follow.Schema != core.SchemaOf(follow) {
		t.Errorf("the next run has %q and schema %d", follow.Supplied, follow.Schema)
	}
}
