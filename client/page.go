package client

import (
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

func pageQuery(limit int, cursor string) url.Values {
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
