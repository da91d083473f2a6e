// Package meter adds up what the requests to a table consume.
package meter

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// Meter is a [dynamo.API] that adds up the capacity that each request consumed, as reported by the
// server. Requests that a condition refused are billed but not reported, so the sum does not
// include them. It is safe for concurrent use.
type Meter struct {
	dynamo.API

	mu          sync.Mutex
	read, write float64
}

// New wraps api in a meter.
func New(api dynamo.API) *Meter { return &Meter{API: api} }

// Take returns the read and write units, including those of indexes, that were consumed since the
// last Take.
func (m *Meter) Take() (read, write float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	read, write = m.read, m.write
	m.read, m.write = 0, 0
	return read, write
}

const told = types.ReturnConsumedCapacityTotal

func (m *Meter) add(sum *float64, consumed ...types.ConsumedCapacity) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range consumed {
		if c.CapacityUnits != nil {
			*sum += *c.CapacityUnits
		}
	}
}

// one returns the capacity of a request for one table, if the server reported it.
func one(c *types.ConsumedCapacity) []types.ConsumedCapacity {
	if c == nil {
		return nil
	}
	return []types.ConsumedCapacity{*c}
}

func (m *Meter) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	in.ReturnConsumedCapacity = told
	out, err := m.API.GetItem(ctx, in, o...)
	if err == nil {
		m.add(&m.read, one(out.ConsumedCapacity)...)
	}
	return out, err
}

func (m *Meter) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	in.ReturnConsumedCapacity = told
	out, err := m.API.Query(ctx, in, o...)
	if err == nil {
		m.add(&m.read, one(out.ConsumedCapacity)...)
	}
	return out, err
}

func (m *Meter) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	in.ReturnConsumedCapacity = told
	out, err := m.API.BatchGetItem(ctx, in, o...)
	if err == nil {
		m.add(&m.read, out.ConsumedCapacity...)
	}
	return out, err
}

func (m *Meter) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	in.ReturnConsumedCapacity = told
	out, err := m.API.PutItem(ctx, in, o...)
	if err == nil {
		m.add(&m.write, one(out.ConsumedCapacity)...)
	}
	return out, err
}

func (m *Meter) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	in.ReturnConsumedCapacity = told
	out, err := m.API.UpdateItem(ctx, in, o...)
	if err == nil {
		m.add(&m.write, one(out.ConsumedCapacity)...)
	}
	return out, err
}

func (m *Meter) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (
	*dynamodb.TransactWriteItemsOutput, error) {
	in.ReturnConsumedCapacity = told
	out, err := m.API.TransactWriteItems(ctx, in, o...)
	if err == nil {
		m.add(&m.write, out.ConsumedCapacity...)
	}
	return out, err
}
