package compact

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"sync"
)

// The codes. Any other first byte is that of a body as it is.
const (
	codeTables  = 1 // matches and literals in the codes of tables.go
	codeDeflate = 2 // DEFLATE with the dictionary, for text that the tables don't suit
)

const (
	// the id of the thread, in the text that is packed: no JSON contains it
	idMark = 1
	// a code, the checksum and the length
	header = 1 + crc32.Size
	// longer bodies are left to DEFLATE, whose effort pays there
	mostForTables = 16 << 10
	// a body with less isn't worth an attempt
	leastPacked = 64
)

// ErrDamaged reports that a body is not what [Pack] returned.
var ErrDamaged = errors.New("compact: the packed text is damaged")

// Pack returns body, or a shorter text that [Unpack] turns into body again. The result for one body
// and thread is always the same.
func Pack(body []byte, thread string) []byte {
	if len(body) < leastPacked || body[0] < ' ' || bytes.IndexByte(body, idMark) >= 0 {
		return body
	}
	text := body
	if id := idOf(thread); id != "" {
		text = bytes.ReplaceAll(body, []byte(id), []byte{idMark})
	}
	packed := make([]byte, 0, len(body)/2)
	packed = append(packed, codeTables)
	packed = binary.LittleEndian.AppendUint32(packed, crc32.ChecksumIEEE(body))
	packed = binary.AppendUvarint(packed, uint64(len(text)))
	start := len(packed)
	if len(text) <= mostForTables {
		packed = encode(packed, text)
	}
	// DEFLATE makes tables of its own for each text, which takes four times as long
	if len(packed) == start || 2*len(packed) > len(body) {
		if other := deflate(packed[:start:start], text); len(packed) == start || len(other) < len(packed) {
			packed = other
			packed[0] = codeDeflate
		}
	}
	// a text that could not be read again would be lost: a bug here must cost bytes only
	if len(packed) >= len(body) || !same(packed[start:], packed[0], text) {
		return body
	}
	return packed
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

func same(packed []byte, code byte, text []byte) bool {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	back, err := unpack(*buffer, packed, code, uint64(len(text)))
	*buffer = back
	return err == nil && bytes.Equal(back, text)
}

// unpack returns a text of n bytes, in the buffer if it is large enough.
func unpack(buffer, packed []byte, code byte, n uint64) ([]byte, error) {
	if n > uint64(len(packed))*mostFromByte {
		return nil, ErrDamaged
	}
	if uint64(cap(buffer)) < n {
		buffer = make([]byte, n)
	}
	if code == codeTables {
		return decode(buffer[:0], packed, int(n))
	}
	return inflate(buffer[:n], packed)
}

// Unpack reverses [Pack]. It returns a body that is stored as it is unchanged.
func Unpack(stored []byte, thread string) ([]byte, error) {
	if len(stored) == 0 || stored[0] != codeTables && stored[0] != codeDeflate {
		return stored, nil
	}
	if len(stored) < header {
		return nil, ErrDamaged
	}
	n, width := binary.Uvarint(stored[header:])
	if width <= 0 {
		return nil, ErrDamaged
	}
	text, err := unpack(nil, stored[header+width:], stored[0], n)
	if err != nil {
		return nil, ErrDamaged
	}
	if id := idOf(thread); id != "" {
		text = bytes.ReplaceAll(text, []byte{idMark}, []byte(id))
	}
	if crc32.ChecksumIEEE(text) != binary.LittleEndian.Uint32(stored[1:]) {
		return nil, ErrDamaged
	}
	return text, nil
}

// idOf is what the ids of a thread's runs, calls and suspensions have in common.
func idOf(thread string) string {
	const least = 8 // shorter ones occur in other texts
	if _, id, ok := strings.Cut(thread, "_"); ok && len(id) >= least {
		return id
	}
	return ""
}
