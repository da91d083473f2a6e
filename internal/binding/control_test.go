package binding_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/binding"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

func TestAControlIsAskedAboutTheRun(t *testing.T) {
	wrong := errors.New("the switch is gone")
	var about dormouse.RunRef
	c, err := binding.New(dormouse.Program{Control: dormouse.RunControl{ShouldYield: func(_ context.Context, run dormouse.RunRef) (bool, error) {
		about = run
		return true, wrong
	}}}).Control("data")
	if err != nil || c.IsCancelled != nil {
		t.Fatalf("%+v, %v", c, err)
	}
	yes, err := c.ShouldYield(t.Context(), engine.RunRef{Tenant: "a", Thread: "b", Run: "c", Agent: "d"})
	if want := (dormouse.RunRef{Tenant: "a", Thread: "b", ID: "c", Agent: "d"}); !yes || err != wrong || about != want {
		t.Errorf("%v, %v, asked about %+v", yes, err, about)
	}
}

func TestAControlIsOpenedForTheDataDirectory(t *testing.T) {
	cancels := dormouse.RunControl{IsCancelled: func(context.Context, dormouse.RunRef) (bool, error) { return true, nil }}
	opens := func(string) (dormouse.Program, error) { return dormouse.Program{Control: cancels}, nil }
	c, err := binding.New(dormouse.Program{Open: opens}).Control("data")
	if err != nil || c.IsCancelled == nil || c.ShouldYield != nil {
		t.Errorf("%+v, %v", c, err)
	}
	_, err = binding.New(dormouse.Program{Control: cancels, Open: opens}).Control("data")
	if err == nil || !strings.Contains(err.Error(), "keep one of them") {
		t.Errorf("two controls: %v", err)
	}
}
