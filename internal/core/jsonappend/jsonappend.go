// Package jsonappend appends JSON to a buffer, byte for byte as package encoding/json writes it
// without escapes for HTML. It doesn't go over a value again that encoding/json would compact at
// each level that contains it: the conversation for a model is mostly text, and each step sends all
// of it.
package jsonappend

import (
	"math/bits"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// Text appends a string in quotes. Bytes that are not UTF-8 become U+FFFD.
func Text(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for {
		n := plain(s)
		dst = append(dst, s[:n]...)
		if s = s[n:]; s == "" {
			return append(dst, '"')
		}
		if s[0] < utf8.RuneSelf {
			dst = escaped(dst, s[0])
			s = s[1:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(dst, `\ufffd`...)
		case r == '\u2028', r == '\u2029': // not allowed in JavaScript
			dst = append(dst, '\\', 'u', '2', '0', '2', hexDigits[r&0xF])
		default:
			dst = append(dst, s[:size]...)
		}
		s = s[size:]
	}
}

// escaped appends a character of ASCII that a string can't contain as it is.
func escaped(dst []byte, b byte) []byte {
	switch b {
	case '\\', '"':
		return append(dst, '\\', b)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&0xF])
}

// plain returns how many bytes of s, from the first on, are ASCII and need no escape. It examines
// eight at a time.
func plain(s string) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; len(s)-n >= 8; n += 8 {
		x := eight(s[n:])
		quote, slash := x^(ones*'"'), x^(ones*'\\')
		// the high bit of each byte that is below 0x20, one of the two, or not ASCII; only
		// bytes after one of these may be marked by mistake
		if marked := (x | (x - ones*0x20) | (quote - ones) | (slash - ones)) & high; marked != 0 {
			return n + bits.TrailingZeros64(marked)/8
		}
	}
	for ; n < len(s); n++ {
		if b := s[n]; b < 0x20 || b == '"' || b == '\\' || b >= utf8.RuneSelf {
			break
		}
	}
	return n
}

// eight returns the first eight bytes, the first one lowest. The compiler makes one load of it.
func eight(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// List appends a list whose values are appended by value.
func List[V any](dst []byte, values []V, value func([]byte, V) []byte) []byte {
	dst = append(dst, '[')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = value(dst, v)
	}
	return append(dst, ']')
}
