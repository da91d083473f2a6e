package dynamo

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/headform"
)

// Signal implements frontend.Store. A signal without an idempotency key is one write. A message
// without a key is sent once, and returns [engine.ErrUnavailable] if its answer is lost, because a
// retry would look like a new message. A repeat of a write that landed is refused, and the
// head that refused it has the signal in its inbox; the caller decides whether that signal is its
// own, because only the caller knows which others exist.
func (s *Store) Signal(ctx context.Context, req engine.SignalRequest) (engine.Written, error) {
	u := s.signalUpdate(req)
	switch {
	// a call always has an id, and an attribute a name
	case req.Suspension != "" && req.Call == "":
		h, err := s.head(ctx, u.key)
		return engine.Written{Head: h}, orRefused(err)
	case req.Key != nil:
		return s.keyedSignal(ctx, req, u)
	}
	var how []func(*dynamodb.Options)
	// all other signals are refused as repeats once they have been drained
	if req.Signal.Kind == core.SignalMessage {
		how = append(how, onlyRefused)
	}
	h, won, err := s.changeHead(ctx, "storing a signal", u, how...)
	if !won {
		err = orRefused(err)
	}
	return engine.Written{Head: h}, err
}

// keyedSignal stores the key together with the signal. A transaction does not return the new head,
// so the head is read afterwards; a worker may already have drained the signal from it.
func (s *Store) keyedSignal(ctx context.Context, req engine.SignalRequest, u *update) (engine.Written, error) {
	old, won, err := s.transact(ctx, "storing a message", req.Key, u, nil)
	switch {
	case err != nil:
		return engine.Written{}, err
	case !won:
		return engine.Written{Head: old}, engine.ErrRefused
	}
	h, err := s.head(ctx, u.key)
	return engine.Written{Head: h}, err
}

func orRefused(err error) error {
	if err == nil {
		return engine.ErrRefused
	}
	return err
}

func (s *Store) signalUpdate(req engine.SignalRequest) *update {
	u := &update{key: headKey(req.Tenant, req.Thread)}
	place := u.in("{inbox}.") + u.alias("key", headform.Short(req.Thread, req.InboxKey))
	u.sets = append(u.sets, place+" = "+u.value("signal", signalOf(req.Thread, req.Signal)))
	u.add(attrSigs, 1)
	s.setDue(u, req.Due)
	u.require("{run} = " + u.value("run", text(req.Run)) + " AND attribute_not_exists({end}) AND attribute_not_exists(" + place + ")")
	if req.Suspension != "" && req.Call != "" {
		u.alias("call", req.Call)
		u.require("{calls}.#call.{sus} = " + u.value("sus", text(headform.Short(req.Thread, req.Suspension))) +
			" AND {calls}.#call.{st} = " + u.value("suspended", text(core.CallSuspended.String())))
	}
	for i, one := range req.Together {
		s.together(u, req.Thread, i, one)
	}
	requireMore(u, req)
	holds(u, req)
	if req.Vote != nil {
		countVote(u, req)
	}
	return u
}

// together adds another decision of a batch to the update of the first one: one item, one write,
// one condition.
func (s *Store) together(u *update, thread string, i int, one engine.Answer) {
	n := strconv.Itoa(i)
	place := u.in("{inbox}.") + u.alias("key"+n, headform.Short(thread, one.Suspension))
	u.sets = append(u.sets, place+" = "+u.value("signal"+n, signalOf(thread, one.Signal)))
	u.alias("call"+n, one.Call)
	u.require("attribute_not_exists(" + place + ") AND {calls}.#call" + n + ".{sus} = " + u.value("sus"+n, text(headform.Short(thread, one.Suspension))) +
		" AND {calls}.#call" + n + ".{st} = :suspended")
}

func requireMore(u *update, req engine.SignalRequest) {
	if req.MaxMessages > 0 {
		u.require("size({inbox}) < " + u.value("most", number(int64(req.MaxMessages))))
	}
	if req.NobodyWaits {
		u.require("attribute_not_exists({nsus})")
	}
	if req.Late != "" {
		u.alias("late", headform.Short(req.Thread, req.Late))
		u.require("attribute_exists({timed}.#late)")
	}
}

// holds adds what is conditional for a decision that is held, or withdrawn.
func holds(u *update, req engine.SignalRequest) {
	if req.Seen != nil {
		u.set(attrSchema, number(core.SchemaPacked))
		u.require("attribute_not_exists({lease}) AND {sigs} = " + u.value("seen", number(*req.Seen)) + " AND {v} <= :v")
	}
	if held := req.Undoes; held != nil {
		at := u.in("{inbox}.") + u.alias("held", headform.Short(req.Thread, held.Suspension))
		u.removes = append(u.removes, at)
		u.require(at + ".{k} = " + u.value("decision", text(string(core.SignalDecision))) + " AND " + at + ".{id} = " + u.value("id", text(held.ID)) +
			" AND " + at + ".{hold} = " + u.value("hold", number(held.Until)))
	}
}
