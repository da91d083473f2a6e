package client_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

func TestAnErrorOfAStreamElsewhereDoesNotRepeatItsTicket(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close() // nobody listens there
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, gone.URL+"/v1/streams/a-secret-ticket", http.StatusTemporaryRedirect)
	}))
	defer first.Close()
	_, err := client.New(first.URL, "token", nil).Follow(t.Context(), "run_a_0", "", false, func(wire.Event) error { return nil })
	if err == nil || strings.Contains(err.Error(), "a-secret-ticket") || !strings.Contains(err.Error(), strings.TrimPrefix(gone.URL, "http://")) {
		t.Errorf("%v", err)
	}
}
