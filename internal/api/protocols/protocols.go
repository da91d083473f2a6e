package protocols

import (
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
)

// Server is what the protocols are served with.
type Server struct {
	Runs  Runs
	Reads Reads

	// Public is where clients reach the server; the zero value: where they say they do.
	Public access.PublicURL

	// Auth is the scheme of the Authorization header that callers need; empty: none.
	Auth string
}

// All are the protocols that the server speaks beside its API.
func All(s Server) []httpapi.Protocol { return []httpapi.Protocol{AISDK{s.Runs}, A2A{s}} }
