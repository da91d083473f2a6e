package enginetest

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

var holdCases = []storeCase{
	{"UN-1 a held decision raises the schema, and a withdrawal takes its place once", testHoldWithdrawn},
	{"UN-1 none is held while the run has an owner, or after another signal", testHoldNotAtRest},
}

// holds is a decision on c1 of h that is held until 9000.
func holds(h core.Head, id string) engine.SignalRequest {
	req := decide(h, asked, id)
	req.Signal.Hold, req.Due, req.Seen = 9000, 9500, &h.Sigs
	return req
}

func testHoldWithdrawn(t *storeTest) {
	h := t.waiting(thread)
	want, req := h.Clone(), holds(h, "d1")
	want.Inbox, want.Sigs, want.Due, want.Schema = map[string]core.Signal{asked: req.Signal}, h.Sigs+1, 9500, core.SchemaPacked
	t.equal("head", t.signal(req), want)
	older := claimOf(h, "old", 2000)
	older.Schema = core.SchemaSupplied
	_, err := t.store.Claim(t.Context(), older)
	t.wantErr(err, engine.ErrNewerSchema)
	undo := engine.SignalRequest{Tenant: tenant, Thread: thread, Run: h.Run, InboxKey: core.WithdrawnKey(asked), Signal: req.Signal, Due: 4000}
	undo.Signal.Kind, undo.Signal.Sus, undo.Signal.Hold = core.SignalWithdrawn, asked, 3000
	for _, other := range []engine.Held{{Suspension: asked, ID: "d2", Until: 9000}, {Suspension: asked, ID: "d1", Until: 8000}, {Suspension: "sus_2", ID: "d1", Until: 9000}} {
		undo.Undoes = &other
		t.refusedVote(want, "since it is another decision", undo)
	}
	undo.Undoes = &engine.Held{Suspension: asked, ID: "d1", Until: 9000}
	want.Inbox, want.Sigs, want.Due = map[string]core.Signal{undo.InboxKey: undo.Signal}, want.Sigs+1, 4000
	t.equal("head", t.signal(undo), want)
	for _, again := range []engine.SignalRequest{undo, req} {
		t.refusedVote(want, "since it is a copy", again)
	}
}

func testHoldNotAtRest(t *storeTest) {
	h := t.waiting(thread)
	owned := t.claim(t.signal(say(h, "m1")), "w2", 3000)
	for _, req := range []engine.SignalRequest{holds(h, "d1"), holds(owned, "d1")} {
		t.refusedVote(owned, "since the run does not rest", req)
	}
}
