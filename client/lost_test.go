package client_test

import (
	"net/http"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
)

// On a real server, losing the answers to all requests that change something leads to one run, and
// to one decision on its call.
func TestRetriesActOnce(t *testing.T) {
	desk := newRefundDesk()
	defer desk.Close()
	c := client.New(desk.URL, client.WithSleep(noSleep))
	lose := func(n int) *client.Client {
		return c.With(client.WithTransport(func(inner http.RoundTripper) http.RoundTripper { return &lossy{n, inner} }))
	}
	run, err := lose(2).StartRun(t.Context(), client.StartRequest{Agent: "refund-desk", Input: client.Text("Refund $180 for order A-2.")}, "")
	if err != nil {
		t.Fatal(err)
	}
	if run, err = c.WaitRun(t.Context(), run.ID); err != nil || len(run.Pending) != 1 {
		t.Fatalf("%+v, %v", run, err)
	}
	answer, err := lose(2).Decide(t.Context(), run.ID, run.Pending[0].Approve())
	if err != nil || answer.Code != client.CodeAlreadyDecided || answer.Same == nil || !*answer.Same {
		t.Errorf("the answer is %+v, %v; want that this decision is stored", answer, err)
	}
	for _, err := range c.Events(t.Context(), run.ID, client.EventOptions{Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	runs, err := client.Collect(c.Runs(t.Context(), client.RunFilter{}))
	if err != nil || len(runs) != 1 || runs[0].Status != client.StatusDone {
		t.Errorf("runs %+v, %v", runs, err)
	}
	decisions, err := client.Collect(c.Decisions(t.Context(), client.DecisionFilter{}))
	if err != nil || len(decisions) != 1 || !decisions[0].Applied {
		t.Errorf("decisions %+v, %v", decisions, err)
	}
}

// A suspension is read by its id: the call while it waits, and how it was settled afterwards.
func TestASuspensionIsReadAndAnsweredByItsID(t *testing.T) {
	desk := newRefundDesk()
	defer desk.Close()
	c := client.New(desk.URL)
	run, err := c.StartRun(t.Context(), client.StartRequest{Agent: "refund-desk", Input: client.Text("Refund $180 for order A-2.")}, "")
	if err != nil {
		t.Fatal(err)
	}
	if run, err = c.WaitRun(t.Context(), run.ID); err != nil || len(run.Pending) != 1 {
		t.Fatalf("%+v, %v", run, err)
	}
	id := run.Pending[0].Suspension.ID
	state, err := c.Suspension(t.Context(), id)
	if err != nil || state.Approval == nil || state.Outcome != nil || state.Approval.RunID != run.ID {
		t.Fatalf("%+v, %v", state, err)
	}
	if _, err := c.DecideSuspension(t.Context(), state.Approval.Deny("not today")); err != nil {
		t.Fatal(err)
	}
	if state, err = c.Suspension(t.Context(), id); err != nil || state.Outcome == nil || state.Approval != nil || state.Outcome.State != "answered" {
		t.Errorf("%+v, %v", state, err)
	}
}

func TestHealthReportsAFailingStoreWithoutAnError(t *testing.T) {
	requests, body := 0, `{"status":"failing","version":"v1","storage":"gone"}`
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(body))
	})
	h, err := client.New(s.URL).Health(t.Context())
	if err != nil || h.Status != client.HealthFailing || h.Storage != client.StorageGone {
		t.Errorf("%+v, %v", h, err)
	}
	body = `{"message":"Service Unavailable"}`
	if _, err := client.New(s.URL).Health(t.Context()); err == nil || requests != 2 {
		t.Errorf("of a gateway: %v after %d requests", err, requests)
	}
}
