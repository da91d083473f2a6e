package compact

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"sync"
)

// deflaters are compressors between two uses: a new one takes 800 KB, for a body of a few.
var deflaters sync.Pool

func deflate(packed, text []byte) []byte {
	out := bytes.NewBuffer(packed)
	var err error
	w, used := deflaters.Get().(*flate.Writer)
	if used {
		w.Reset(out)
	} else {
		w, err = flate.NewWriterDict(out, flate.DefaultCompression, theTables().dict)
	}
	if err == nil {
		_, err = w.Write(text)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		// neither the level nor the buffer can fail
		panic("compact: compressing in memory: " + err.Error())
	}
	deflaters.Put(w)
	return out.Bytes()
}

// inflate fills text.
func inflate(text, packed []byte) ([]byte, error) {
	r := flate.NewReaderDict(bytes.NewReader(packed), theTables().dict)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, err
	}
	if _, err := r.Read(make([]byte, 1)); err != io.EOF {
		return nil, ErrDamaged
	}
	return text, nil
}
