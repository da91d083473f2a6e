package secret_test

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/secret"
)

// What a piece of a model's answer costs, beside the whole answer in one piece.
func BenchmarkStream(b *testing.B) {
	keys := secret.Values{"A": "sk-1234567890abcdefghijklmnop", "B": "another-key-of-a-gateway"}
	for name, size := range map[string]int{"a word at a time": 5, "whole": 5000} {
		text := strings.Repeat("wait ", 1000)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s := keys.Stream()
				for at := 0; at < len(text); at += size {
					s.Next(text[at : at+size])
				}
				s.Rest()
			}
		})
	}
}
