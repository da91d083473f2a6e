package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// TestAPlanOfNoKnownKind holds the loop to the sealed type: a plan that it cannot carry out ends
// the activation at once, and is never decided again.
func TestAPlanOfNoKnownKind(t *testing.T) {
	for name, plan := range map[string]plans.Plan{"none": nil, "of another type": struct{ plans.Plan }{}} {
		t.Run(name, func(t *testing.T) {
			decided := 0
			a := newActivation(New(Options{Clock: stillClock{}}), core.Head{Identity: core.Identity{Run: "run_a_0"}})
			err := a.carryOut(t.Context(), func(plans.View) (plans.Plan, error) {
				if decided++; decided > 1 {
					t.Fatal("decided again")
				}
				return plan, nil
			})
			if err == nil || !strings.Contains(err.Error(), "plan of type") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// stillClock is a clock on which no time passes.
type stillClock struct{}

func (stillClock) Now() time.Time { return time.UnixMilli(1) }

func (stillClock) AfterFunc(time.Duration, func()) (stop func()) { return func() {} }
