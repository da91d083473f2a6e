package awsdouble

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// apiError is what a service answers instead of a result. The fields of it go into the body as they
// are.
type apiError struct {
	status  int
	code    string
	message string
	fields  map[string]any
	// the older name of an SQS error, sent in a header that its callers may look at
	sqs string
}

func (e *apiError) Error() string { return e.code + ": " + e.message }

func refuse(code, format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, code: code, message: fmt.Sprintf(format, args...)}
}

// invalid is DynamoDB's ValidationException.
func invalid(format string, args ...any) *apiError {
	return refuse("ValidationException", format, args...)
}

// unknownCode is the code of a refusal that is the double's own: the real service might well have
// taken the request.
const unknownCode = "NotKnownToTheDouble"

func unknown(format string, args ...any) *apiError { return refuse(unknownCode, format, args...) }

func errorOf(err error) *apiError {
	var e *apiError
	if errors.As(err, &e) {
		return e
	}
	return refuse("SerializationException", "the request cannot be read: %v", err)
}

// body is the error as JSON 1.0 has it. DynamoDB spells the member of a cancelled transaction with
// a capital letter.
func (e *apiError) body(service string) map[string]any {
	message, prefix := "message", "com.amazonaws.dynamodb.v20120810#"
	switch {
	case service == serviceSQS:
		prefix = "com.amazonaws.sqs#"
	case e.code == "ValidationException":
		prefix = "com.amazon.coral.validate#"
	case e.code == "TransactionCanceledException":
		message = "Message"
	}
	body := map[string]any{"__type": prefix + e.code, message: e.message}
	for name, v := range e.fields {
		body[name] = v
	}
	return body
}

func (e *apiError) queryHeader() string {
	if e.sqs == "" {
		return ""
	}
	return e.sqs + ";Sender"
}

func joined(names []string) string { return strings.Join(names, ", ") }
