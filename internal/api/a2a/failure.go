package a2a

import (
	"cmp"
	"encoding/json"
	"net/http"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// byCode are the errors that refusals of the API are, where their status doesn't tell.
var byCode = map[string]error{
	"run_not_found":    sdk.ErrTaskNotFound,
	"thread_not_found": sdk.ErrInvalidParams, // the protocol has no error for contexts
	"call_not_found":   sdk.ErrInvalidParams,
	"malformed_body":   sdk.ErrParseError,
}

var byStatus = map[int]error{
	http.StatusBadRequest:          sdk.ErrInvalidParams,
	http.StatusUnauthorized:        sdk.ErrUnauthenticated,
	http.StatusForbidden:           sdk.ErrUnauthorized,
	http.StatusConflict:            sdk.ErrUnsupportedOperation,
	http.StatusUnprocessableEntity: sdk.ErrInvalidParams,
}

// Failure is a refusal of the API as an error of the protocol. Its details have the API's code and
// everything else that the API says.
func Failure(p wire.Problem) error {
	is := cmp.Or(byCode[p.Code], byStatus[p.Status], sdk.ErrServerError)
	var details map[string]any
	_ = json.Unmarshal(core.Encode(p), &details) // a problem is an object
	return sdk.NewError(is, cmp.Or(p.Detail, p.Title)).WithDetails(details).WithErrorInfoMeta(map[string]string{"code": p.Code})
}
