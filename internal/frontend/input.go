package frontend

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/answer"
	"github.com/dormouse-dev/dormouse/internal/core/depth"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/core/strict"
	"github.com/dormouse-dev/dormouse/internal/frontend/holds"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// maxKey is how many bytes an idempotency key or a decision id may have.
const maxKey = 255

// readKey checks an idempotency key; the empty key means none.
func readKey(key string) error {
	if len(key) > maxKey {
		return refusal.New(refusal.CodeInvalid, "the idempotency key is longer than %d bytes", maxKey)
	}
	return nil
}

// mayUseKey refuses a key that only webhooks have.
func mayUseKey(c Caller, key string) error {
	if strings.HasPrefix(key, HookKeys) && c.Via != ViaHook {
		return refusal.New(refusal.CodeInvalid, "the idempotency key begins with %s, which is reserved for webhooks; use another key", HookKeys)
	}
	return nil
}

func readOnPending(choice string) (core.OnPending, error) {
	switch choice {
	case "", "refuse":
		return core.PendingRefuse, nil
	case string(core.PendingAbandon), string(core.PendingQueue):
		return core.OnPending(choice), nil
	}
	return "", refusal.New(refusal.CodeInvalid, "on_pending must be refuse, abandon, queue or omitted")
}

// written is how many times longer than its canonical text a value may be written, with space and
// escapes. What is longer is refused before it is read: to find the canonical text costs far more
// than to send the other.
const written = 8

func (f *Frontend) readMetadata(metadata json.RawMessage) (json.RawMessage, error) {
	if core.IsNull(metadata) {
		return nil, nil
	}
	if len(metadata) > written*f.limits.Metadata {
		return nil, refusal.New(refusal.CodeInvalid, "metadata is larger than %d bytes", f.limits.Metadata)
	}
	if depth.Exceeded(metadata) {
		return nil, refusal.New(refusal.CodeInvalid, "metadata is nested more than %d levels deep", depth.Max)
	}
	canonical, err := core.Canonical(metadata)
	if err != nil || canonical[0] != '{' {
		return nil, refusal.New(refusal.CodeInvalid, "metadata must be an object")
	}
	if len(canonical) > f.limits.Metadata {
		return nil, refusal.New(refusal.CodeInvalid, "metadata is larger than %d bytes", f.limits.Metadata)
	}
	return canonical, nil
}

// readPermissions reads the permissions of one run. What they may say is not known here.
func (f *Frontend) readPermissions(raw json.RawMessage) (json.RawMessage, error) {
	if core.IsNull(raw) {
		return nil, nil
	}
	if len(raw) > written*f.limits.Narrow {
		return nil, refusal.New(refusal.CodeInvalidPermissions, "permissions are larger than %d bytes", f.limits.Narrow)
	}
	if depth.Exceeded(raw) {
		return nil, refusal.New(refusal.CodeInvalidPermissions, "permissions are nested more than %d levels deep", depth.Max)
	}
	canonical, err := core.Canonical(raw)
	if err != nil {
		return nil, refusal.New(refusal.CodeInvalidPermissions, "permissions are not valid JSON")
	}
	if len(canonical) > f.limits.Narrow {
		return nil, refusal.New(refusal.CodeInvalidPermissions, "permissions are larger than %d bytes", f.limits.Narrow)
	}
	if f.narrow == nil {
		return canonical, nil
	}
	if err := f.narrow(canonical); err != nil {
		return nil, refusal.New(refusal.CodeInvalidPermissions, "%v", err)
	}
	return canonical, nil
}

// digest is of a request's content, however its JSON was written.
func digest(request any) (string, error) {
	canonical, err := core.Canonical(core.Encode(request))
	if err != nil {
		return "", refusal.New(refusal.CodeInvalid, "the request is not valid JSON")
	}
	return core.Digest(canonical), nil
}

// DecisionInput is a decision as its caller wrote it, or what is wrong with it. Now is in ms.
func DecisionInput(d wire.Decision, now int64) (answer.Input, error) {
	in := answer.Input{ID: d.DecisionID, Action: d.Action, Result: d.Result, Error: d.Error, Arguments: d.Arguments,
		Grant: d.Grant, Reason: d.Reason, At: now, Shown: d.Shown, ShownBy: d.ShownBy}
	if err := in.Check(); err != nil {
		return in, decisionRefused(err)
	}
	if d.Result != nil {
		if err := strict.Check(d.Result); err != nil {
			return in, refusal.New(refusal.CodeInvalid, "result is invalid: %v", err)
		}
	}
	if d.Target == "" {
		return in, refusal.New(refusal.CodeInvalid, "target is missing; send the id of a suspension or a call")
	}
	if d.Hold < 0 || d.Hold > holds.Most {
		return in, refusal.New(refusal.CodeInvalid, "hold is a number of seconds from 1 to %d", holds.Most)
	}
	if err := readShown(&in); err != nil {
		return in, err
	}
	return in, readDecisionID(d.DecisionID)
}

// decisionRefused translates what the reading of a decision says.
func decisionRefused(err error) error {
	var refused *answer.Error
	if errors.As(err, &refused) {
		return &refusal.Error{Code: refusal.Code(refused.Code), Detail: refused.Detail}
	}
	return err
}

// RendererAPI is recorded for a client that sends the fingerprint back without naming itself.
const RendererAPI = "api"

var renderer = lazyregexp.New(`^[a-z][a-z0-9._-]{0,30}(/[0-9][0-9.]{0,8})?$`)

// readShown checks what a decision claims of the question that was shown. Whether it is that
// question is compared where the decision is stored.
func readShown(in *answer.Input) error {
	switch {
	case len(in.Shown) > maxKey:
		return refusal.New(refusal.CodeInvalid, "shown is longer than a fingerprint; send the fingerprint of the pending call")
	case in.Shown == "" && in.ShownBy != "":
		return refusal.New(refusal.CodeInvalid, "shown_by needs shown; send the fingerprint of the question too, or omit both")
	case in.Shown != "" && in.ShownBy == "":
		in.ShownBy = RendererAPI
	case in.ShownBy != "" && !renderer.MatchString(in.ShownBy):
		return refusal.New(refusal.CodeInvalid, "shown_by must be the name and version of a program, such as desk/2")
	}
	return nil
}

func readDecisionID(id string) error {
	if len(id) > maxKey {
		return refusal.New(refusal.CodeInvalid, "decision_id is longer than %d bytes", maxKey)
	}
	return nil
}
