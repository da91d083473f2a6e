package httpapi

import (
	_ "embed"
	"net/http"
)

//go:embed openapi.json
var openapiDocument []byte

func (a *api) openapi(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", mediaJSON)
	_, _ = w.Write(openapiDocument)
	return nil
}
