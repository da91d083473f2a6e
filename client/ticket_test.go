package client_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
)

func TestAnErrorOfAStreamElsewhereDoesNotRepeatItsTicket(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close() // nobody listens there
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, gone.URL+"/v1/streams/a-secret-ticket", http.StatusTemporaryRedirect)
	}))
	defer first.Close()
	_, err := client.Collect(client.New(first.URL, client.WithToken("token"), client.WithRetries(0)).Events(t.Context(), "run_a_0", client.EventOptions{}))
	if err == nil || strings.Contains(err.Error(), "a-secret-ticket") || !strings.Contains(err.Error(), strings.TrimPrefix(gone.URL, "http://")) {
		t.Errorf("%v", err)
	}
}
