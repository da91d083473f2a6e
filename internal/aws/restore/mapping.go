package restore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
)

// alias is the one through which all callers reach the functions that have one.
const alias = "live"

// States of an event source mapping.
const (
	enabled   = "Enabled"
	disabled  = "Disabled"
	disabling = "Disabling"
)

const pause = 5 * time.Second // between two looks at what changes slowly

// setMapping enables or disables a mapping and waits until it is.
func (d Drill) setMapping(ctx context.Context, id string, on bool) error {
	want := disabled
	if on {
		want = enabled
	}
	asked := false
	for {
		m, err := d.Lambda.GetEventSourceMapping(ctx, &lambda.GetEventSourceMappingInput{UUID: &id})
		if err != nil {
			return fmt.Errorf("reading the event source mapping %s: %w", id, err)
		}
		if aws.ToString(m.State) == want {
			return nil
		}
		if !asked {
			_, err = d.Lambda.UpdateEventSourceMapping(ctx, &lambda.UpdateEventSourceMappingInput{UUID: &id, Enabled: &on})
			// while it changes, it can't be changed
			if _, busy := errors.AsType[*types.ResourceInUseException](err); err != nil && !busy {
				return fmt.Errorf("changing the event source mapping %s: %w", id, err)
			}
			asked = err == nil
		}
		if err := d.Wait(ctx, pause); err != nil {
			return err
		}
	}
}

func missing(err error) bool {
	_, is := errors.AsType[*types.ResourceNotFoundException](err)
	return is
}
