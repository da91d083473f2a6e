package platform

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	service "github.com/dormouse-dev/dormouse/internal/proof/e2e/lambda"
)

// mapping is an event source mapping that can be switched off.
type mapping struct {
	poller   *service.Poller
	function string // its logical id
	off      context.CancelFunc
	ended    chan struct{}
}

func (m *mapping) on(ctx context.Context) {
	ctx, m.off = context.WithCancel(ctx)
	m.ended = make(chan struct{})
	go func() {
		defer close(m.ended)
		m.poller.Run(ctx)
	}()
}

// Control is what Lambda itself does with the functions of the platform when an operator asks for
// it: it stops and starts them, and what calls them. A reserved concurrency is 0 or none.
type Control struct{ p *Platform }

// Control is that of the platform. It is for one operator at a time.
func (p *Platform) Control() Control { return Control{p} }

var errOnlyStops = errors.New("this stand-in reserves a concurrency of 0 only")

// ListFunctions lists all functions, on one page.
func (c Control) ListFunctions(context.Context, *lambda.ListFunctionsInput, ...func(*lambda.Options)) (*lambda.ListFunctionsOutput, error) {
	out := &lambda.ListFunctionsOutput{}
	for _, f := range c.p.Stack.Functions {
		out.Functions = append(out.Functions, types.FunctionConfiguration{FunctionName: &f.Name, Timeout: aws.Int32(int32(f.Timeout.Seconds())),
			Environment: &types.EnvironmentResponse{Variables: f.Environment}})
	}
	return out, nil
}

// GetFunctionConfiguration returns the environment of the one version that there is.
func (c Control) GetFunctionConfiguration(_ context.Context, in *lambda.GetFunctionConfigurationInput, _ ...func(*lambda.Options)) (*lambda.GetFunctionConfigurationOutput, error) {
	for _, f := range c.p.Stack.Functions {
		if f.Name == *in.FunctionName {
			return &lambda.GetFunctionConfigurationOutput{Environment: &types.EnvironmentResponse{Variables: f.Environment}}, nil
		}
	}
	return nil, &types.ResourceNotFoundException{Message: in.FunctionName}
}

// GetFunctionConcurrency returns 0 for a function that is stopped.
func (c Control) GetFunctionConcurrency(_ context.Context, in *lambda.GetFunctionConcurrencyInput, _ ...func(*lambda.Options)) (*lambda.GetFunctionConcurrencyOutput, error) {
	if c.p.Lambda.Stopped(*in.FunctionName) {
		return &lambda.GetFunctionConcurrencyOutput{ReservedConcurrentExecutions: aws.Int32(0)}, nil
	}
	return &lambda.GetFunctionConcurrencyOutput{}, nil
}

// PutFunctionConcurrency stops a function.
func (c Control) PutFunctionConcurrency(_ context.Context, in *lambda.PutFunctionConcurrencyInput, _ ...func(*lambda.Options)) (*lambda.PutFunctionConcurrencyOutput, error) {
	if *in.ReservedConcurrentExecutions != 0 {
		return nil, errOnlyStops
	}
	c.p.Lambda.Stop(*in.FunctionName, true)
	return &lambda.PutFunctionConcurrencyOutput{}, nil
}

// DeleteFunctionConcurrency starts a function again.
func (c Control) DeleteFunctionConcurrency(_ context.Context, in *lambda.DeleteFunctionConcurrencyInput, _ ...func(*lambda.Options)) (*lambda.DeleteFunctionConcurrencyOutput, error) {
	c.p.Lambda.Stop(*in.FunctionName, false)
	return &lambda.DeleteFunctionConcurrencyOutput{}, nil
}

// ListEventSourceMappings lists those of a function by its name.
func (c Control) ListEventSourceMappings(_ context.Context, in *lambda.ListEventSourceMappingsInput, _ ...func(*lambda.Options)) (*lambda.ListEventSourceMappingsOutput, error) {
	out := &lambda.ListEventSourceMappingsOutput{}
	for id, m := range c.p.mappings {
		if c.p.Stack.Functions[m.function].Name == *in.FunctionName {
			out.EventSourceMappings = append(out.EventSourceMappings, types.EventSourceMappingConfiguration{UUID: &id, State: m.state()})
		}
	}
	return out, nil
}

func (m *mapping) state() *string {
	if m.off == nil {
		return aws.String("Disabled")
	}
	return aws.String("Enabled")
}

func (c Control) mapping(id string) (*mapping, error) {
	if m, there := c.p.mappings[id]; there {
		return m, nil
	}
	return nil, fmt.Errorf("there is no mapping %s", id)
}

// GetEventSourceMapping returns whether a mapping is on.
func (c Control) GetEventSourceMapping(_ context.Context, in *lambda.GetEventSourceMappingInput, _ ...func(*lambda.Options)) (*lambda.GetEventSourceMappingOutput, error) {
	m, err := c.mapping(*in.UUID)
	if err != nil {
		return nil, err
	}
	return &lambda.GetEventSourceMappingOutput{UUID: in.UUID, State: m.state()}, nil
}

// UpdateEventSourceMapping switches a mapping. It returns once the calls of one that is switched
// off have ended.
func (c Control) UpdateEventSourceMapping(_ context.Context, in *lambda.UpdateEventSourceMappingInput, _ ...func(*lambda.Options)) (*lambda.UpdateEventSourceMappingOutput, error) {
	m, err := c.mapping(*in.UUID)
	switch {
	case err != nil:
		return nil, err
	case *in.Enabled && m.off == nil:
		m.on(c.p.life)
	case !*in.Enabled && m.off != nil:
		m.off()
		<-m.ended
		m.off = nil
	}
	return &lambda.UpdateEventSourceMappingOutput{}, nil
}
