package client

import (
	"errors"
	"iter"
	"net/url"
)

// Page is one page of a list. It may be short or empty although more entries follow: read on while
// Next is set.
type Page[T any] struct {
	// The entries.
	Items []T `json:"items"`
	// The cursor of the next page. Empty on the last page.
	Next string `json:"next,omitempty"`
}

// pages returns the entries of one page after another, until a page has no next one or cannot be
// read.
func pages[T any](cursor string, read func(cursor string) (items []T, next string, err error)) iter.Seq2[T, error] {
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

func paging(limit int, cursor string) url.Values {
	q := url.Values{}
	add(q, "cursor", cursor)
	addNumber(q, "limit", limit)
	return q
}

// Collect returns all values of an iterator, or the error that ended it.
func Collect[T any](values iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for value, err := range values {
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	return all, nil
}
