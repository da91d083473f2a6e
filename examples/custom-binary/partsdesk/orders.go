package partsdesk

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/dormouse-dev/dormouse"
)

// order is a line of the file of orders. Key is the idempotency key of its call.
type order struct {
	Key      string `json:"key"`
	Tenant   string `json:"tenant"`
	Part     string `json:"part"`
	Quantity int    `json:"quantity"`
}

// journal is a file with one value per line. It contains each value once.
type journal[T comparable] struct {
	path string
	mu   sync.Mutex
}

// add adds a value, unless it is already there, and returns once it is on disk.
func (j *journal[T]) add(v T) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	all, err := j.read()
	if err != nil || slices.Contains(all, v) {
		return err
	}
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(j.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(j.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

func (j *journal[T]) all() ([]T, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.read()
}

func (j *journal[T]) read() (all []T, err error) {
	f, err := os.Open(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for lines := bufio.NewScanner(f); ; {
		if !lines.Scan() {
			return all, lines.Err()
		}
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			return all, fmt.Errorf("%s, line %d: %w", j.path, len(all)+1, err)
		}
		all = append(all, v)
	}
}

// shelf is the initial stock of each part.
const shelf = 50

// stockEffect adds the remaining stock to the result of an order. It changes nothing, so it may run
// twice.
func stockEffect(orders *journal[order]) dormouse.Effect {
	return dormouse.Effect{Name: "parts.stock", Run: func(_ context.Context, done dormouse.Done) (string, error) {
		var args purchase
		if err := json.Unmarshal(done.Call.Arguments, &args); err != nil {
			return "", err
		}
		all, err := orders.all()
		left := shelf
		for _, o := range all {
			if o.Part == args.Part {
				left -= o.Quantity
			}
		}
		return fmt.Sprintf("%d left in stock", left), err
	}}
}

// lately recalls the last orders of the tenant. The orders are stored anyway, so it has no Commit.
func lately(orders *journal[order]) dormouse.Memory {
	return dormouse.Memory{Name: "parts.lately", Recall: func(_ context.Context, c dormouse.Conversation) (string, error) {
		all, err := orders.all()
		if err != nil {
			return "", err
		}
		var lines []string
		for _, o := range all {
			if o.Tenant == c.Tenant {
				lines = append(lines, fmt.Sprintf("%d %s", o.Quantity, o.Part))
			}
		}
		if len(lines) == 0 {
			return "", nil
		}
		return "Recent orders: " + strings.Join(lines[max(0, len(lines)-5):], ", "), nil
	}}
}
