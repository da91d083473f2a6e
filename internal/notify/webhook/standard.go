package webhook

import (
	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// Standard is the body of [notice.FormatStandard]: the notice as it is.
func Standard(n client.Notice, _ notice.Target, _ secret.Values) ([]byte, error) {
	return core.EncodeAny(n)
}
