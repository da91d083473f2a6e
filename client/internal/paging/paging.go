// Package paging reads lists page by page.
package paging

import (
	"errors"
	"iter"
)

// All returns the entries of one page after another, until a page has no next one or cannot be
// read.
func All[T any](cursor string, read func(cursor string) (items []T, next string, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for at := cursor; ; {
			items, next, err := read(at)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == at && next != "" {
				var none T
				yield(none, errors.New("client: the server answered with the same page again"))
				return
			}
			if at = next; at == "" {
				return
			}
		}
	}
}
