package stoprule

import (
	"encoding/json"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/strict"
)

// Remember returns the signatures of the last turns, t as the newest, oldest first: as many as the
// rules look back. After a turn without calls there are none.
func Remember(rules []core.StopRule, rounds []string, t core.Turn) []string {
	keep := 0
	for _, rule := range rules {
		if looks, ok := rule.(interface{ Window() int }); ok {
			keep = min(max(keep, looks.Window()-1), core.MostRounds)
		}
	}
	if keep == 0 || len(t.Calls) == 0 {
		return nil
	}
	rounds = append(slices.Clone(rounds), Signature(t))
	return rounds[max(0, len(rounds)-keep):]
}

// Signature is short text that is the same for two turns that ask for the same calls: names and
// canonical arguments, in order.
func Signature(t core.Turn) string {
	type ask struct {
		Name      string
		Arguments json.RawMessage
	}
	asks := make([]ask, len(t.Calls))
	for i, c := range t.Calls {
		args, err := strict.Arguments(c.Arguments)
		if err != nil {
			args = strict.Refused(c.Arguments)
		}
		asks[i] = ask{c.Name, args}
	}
	return core.Digest(core.Encode(asks))[:12]
}
