package agent

import (
	"fmt"
	"maps"
	"slices"

	"golang.org/x/text/unicode/norm"

	"github.com/dormouse-dev/dormouse/internal/core/strict"
)

// nameKey is one text for all names of members that some service takes for the same: it may ignore
// case, and it may compose, decompose or simplify characters before it compares (NFC, NFD, NFKC,
// NFKD).
func nameKey(name string) string {
	if ascii(name) {
		return strict.FoldCase(name)
	}
	return norm.NFKC.String(strict.FoldCase(norm.NFKD.String(strict.FoldCase(norm.NFKC.String(name)))))
}

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// checkNames refuses an object, however deep, in which two names differ only by case or by Unicode
// normalization.
func checkNames(v any) error {
	switch v := v.(type) {
	case map[string]any:
		seen := map[string]string{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			key := nameKey(name)
			if other, there := seen[key]; there {
				return fmt.Errorf("invalid arguments: %s and %s differ only by case or Unicode normalization, so that a service may take one for the other; give each member once",
					spelled(other), spelled(name))
			}
			seen[key] = name
			if err := checkNames(v[name]); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := checkNames(item); err != nil {
				return err
			}
		}
	}
	return nil
}

// spelled quotes a name and escapes what is not ASCII, so that look-alike characters differ.
func spelled(name string) string { return fmt.Sprintf("%+q", Shorten(name, 80)) }
