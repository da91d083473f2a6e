//go:build noaws

package measure

import (
	"context"
	"errors"
)

func openDynamoDB(context.Context, string, bool) (target, error) {
	return nil, errors.New("this program was built without AWS (-tags noaws); use one that was built with it")
}
