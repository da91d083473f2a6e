package httpapi

import (
	_ "embed"
	"net/http"
)

// openapiDocument is written by a test from the table of routes and the types of package wire, so
// that no program links what writes it: go test ./internal/api/httpapi -run OpenAPI -update
//
//go:embed openapi.json
var openapiDocument []byte

// OpenAPI is the API as an OpenAPI 3.1 document, as /openapi.json shows it. The caller does not
// change it.
func OpenAPI() []byte { return openapiDocument }

func (a *api) openapi(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", mediaJSON)
	_, _ = w.Write(a.document)
	return nil
}
