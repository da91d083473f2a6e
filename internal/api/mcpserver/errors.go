package mcpserver

import (
	"errors"
	"fmt"
	"math"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

func invalid(format string, args ...any) *refusal.Error {
	return refusal.New(refusal.CodeInvalid, format, args...)
}

// problem is a refusal for programs. In a tool's result it is the structured content, in an error
// of the protocol its data.
type problem struct {
	wire.Problem
	RetryAfter int `json:"retry_after,omitempty"` // seconds
}

// known words a refusal. An error of the server, or of its store, is for the whole request: it is
// logged, and answered by HTTP.
func (x *exchange) known(err error) (p problem, ok bool) {
	e, ok := problems.Refused(err)
	doc := problems.Document(e)
	if !ok || doc.Status == http.StatusServiceUnavailable && e.Code != refusal.CodeAgentUnavailable {
		return p, false
	}
	return problem{Problem: doc, RetryAfter: int(math.Ceil(e.RetryAfter.Seconds()))}, true
}

// refused is a refusal that the model may see: it can often do something about it.
func (x *exchange) refused(err error) (*mcp.CallToolResult, error) {
	p, ok := x.known(err)
	if !ok {
		return nil, x.failing(err)
	}
	words := fmt.Sprintf("%s: %s", p.Code, p.Detail)
	if p.RetryAfter > 0 {
		words += fmt.Sprintf(" (retry after %d seconds)", p.RetryAfter)
	}
	if p.DecisionExtra != nil {
		words += first(p.Winner)
	}
	if p.RunID != "" {
		words += fmt.Sprintf("\nHere, follow the run with get_run {\"run_id\": %q}, or end it with cancel_run.", p.RunID)
	}
	return &mcp.CallToolResult{IsError: true, Content: text(words), StructuredContent: core.Encode(p)}, nil
}

// rpcError is a refusal as an error of the protocol: the request itself is wrong.
func (x *exchange) rpcError(err error) error {
	if known, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return known
	}
	p, ok := x.known(err)
	if !ok {
		return x.failing(err)
	}
	return &jsonrpc.Error{Code: RPCCode(p.Problem), Message: p.Detail, Data: core.Encode(p)}
}

// RPCCode is the code of a problem as an error of JSON-RPC: that of wrong parameters or of a fault,
// otherwise the HTTP status, since the protocol leaves positive numbers to servers.
func RPCCode(p wire.Problem) int64 {
	switch {
	case p.Status >= http.StatusInternalServerError:
		return jsonrpc.CodeInternalError
	case p.Status == http.StatusBadRequest, p.Status == http.StatusNotFound, p.Status == http.StatusUnprocessableEntity, p.Status == http.StatusGone:
		return jsonrpc.CodeInvalidParams
	}
	return int64(p.Status)
}
