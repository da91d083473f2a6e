// Package bodyform has the forms in which items store bodies.
package bodyform

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/text/compact"
)

// The forms, which are also the names of the attributes that have them.
const (
	Plain    = "body" // as it is
	Deflated = "z"    // compressed
	Compact  = "c"    // a segment, see [compact.Pack]
)

// Small bodies are not compressed: the rest of the capacity unit would be wasted anyway.
const Small = 512

// Pack returns a body as it is stored, and its form.
func Pack(body []byte) (form string, packed []byte) {
	if len(body) > Small {
		if deflated := deflate(body); len(deflated) < len(body) {
			return Deflated, deflated
		}
	}
	return Plain, body
}

// PackSegment is [Pack] for a segment of a thread.
func PackSegment(body []byte, thread string) (form string, packed []byte) {
	if packed = compact.Pack(body, thread); len(packed) < len(body) {
		return Compact, packed
	}
	return Plain, body
}

// Unpack reverses both. Only segments need the thread.
func Unpack(form string, packed []byte, thread string) ([]byte, error) {
	switch form {
	case Deflated:
		return io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	case Compact:
		return compact.Unpack(packed, thread)
	}
	return packed, nil
}

// deflaters are compressors between two uses: a new one takes 800 KB, for a body of a few.
var deflaters sync.Pool

func deflate(body []byte) []byte {
	var out bytes.Buffer
	var err error
	w, used := deflaters.Get().(*flate.Writer)
	if used {
		w.Reset(&out)
	} else {
		w, err = flate.NewWriter(&out, flate.DefaultCompression)
	}
	if err == nil {
		_, err = w.Write(body)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		// neither the level nor the buffer can fail
		panic("bodyform: compressing in memory: " + err.Error())
	}
	deflaters.Put(w)
	return out.Bytes()
}
