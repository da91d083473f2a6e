// Package apidoc has the OpenAPI document of the HTTP API. Programs link it compressed, an eighth
// of its size, because a function loads at each cold start what it links.
package apidoc

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/api/access"
)

// compressed is written by a test from the table of routes and the types of package wire, so that
// no program links what writes it: go test ./internal/api/httpapi -run OpenAPI -update
//
//go:embed openapi.json.gz
var compressed []byte

// Text is the document, as /openapi.json shows it. The caller does not change it.
var Text = sync.OnceValue(func() []byte {
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	var text []byte
	if err == nil {
		text, err = io.ReadAll(r)
	}
	if err != nil {
		// a test reads it
		panic(fmt.Sprintf("apidoc: the document that is linked can't be read: %v", err))
	}
	return text
})

// At is the document, with the address under which people reach this server.
func At(public access.PublicURL) []byte {
	if public.String() == "" {
		return Text()
	}
	return bytes.Replace(Text(), []byte(`"url": "/"`), []byte(`"url": "`+public.String()+`"`), 1)
}
