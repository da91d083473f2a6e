package dynamo_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
)

// The address of a hook has no tenant, so a name belongs to the tenant that deployed it first.
func TestAHookBelongsToOneTenant(t *testing.T) {
	t.Parallel()
	store := quick(t, newDouble(t))
	file := func(tenant, name, text string) engine.HookFile {
		return engine.HookFile{Name: name, Tenant: tenant, Text: text}
	}
	must(t, store.PutHook(t.Context(), file("acme", "issues", "one")))
	must(t, store.PutHook(t.Context(), file("acme", "issues", "two")))
	must(t, store.PutHook(t.Context(), file("other", "chat#1", "three")))
	for what, err := range map[string]error{
		"another tenant's name": store.PutHook(t.Context(), file("other", "issues", "theirs")),
		"another tenant's hook": store.RemoveHook(t.Context(), "other", "issues"),
		"no such hook":          store.RemoveHook(t.Context(), "acme", "none"),
	} {
		if !errors.Is(err, engine.ErrRefused) {
			t.Errorf("%s: %v", what, err)
		}
	}
	all, err := store.HookFiles(t.Context())
	must(t, err)
	if want := []engine.HookFile{file("other", "chat#1", "three"), file("acme", "issues", "two")}; !slices.Equal(all, want) {
		t.Errorf("%+v", all)
	}
	must(t, store.RemoveHook(t.Context(), "acme", "issues"))
	if _, err := store.HookFile(t.Context(), "issues"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a removed hook: %v", err)
	}
	must(t, store.PutHook(t.Context(), file("other", "issues", "four")))
	if f, err := store.HookFile(t.Context(), "issues"); err != nil || f != file("other", "issues", "four") {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestAHookThatCannotBeReadIsNotOneThatIsGone(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	store := quick(t, d)
	d.Fail(func(awsdouble.Call) awsdouble.Fault { return awsdouble.Deny() })
	_, err1 := store.HookFile(t.Context(), "issues")
	_, err2 := store.HookFiles(t.Context())
	for _, err := range []error{err1, err2, store.RemoveHook(t.Context(), "acme", "issues")} {
		if !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("%v", err)
		}
	}
}
