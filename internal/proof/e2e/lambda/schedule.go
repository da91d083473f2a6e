package lambda

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"time"
)

// Schedule calls a function again and again, as EventBridge Scheduler does.
type Schedule struct {
	Service  *Service
	Function string
	Every    time.Duration
	ARN      string // of the schedule
	Region   string
	Account  string
	Input    string // instead of the event; "" for none
	Logger   *slog.Logger
}

// Run calls until ctx ends. A call that fails is not repeated: the next one comes soon enough.
func (s *Schedule) Run(ctx context.Context) {
	tick := time.NewTicker(s.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if err := s.Call(ctx, now); err != nil && ctx.Err() == nil {
				s.Logger.Warn("a scheduled call failed", "function", s.Function, "error", err)
			}
		}
	}
}

// Call calls once, for that time.
func (s *Schedule) Call(ctx context.Context, at time.Time) error {
	event := []byte(s.Input)
	if s.Input == "" {
		var err error
		event, err = json.Marshal(map[string]any{"version": "0", "id": "53dc4d37-cffa-4f76-80c9-8b7d4a4d2eaa", "detail-type": "Scheduled Event",
			"source": "aws.scheduler", "account": s.Account, "time": at.UTC().Format(time.RFC3339), "region": s.Region,
			"resources": []string{s.ARN}, "detail": "{}"})
		if err != nil {
			return err
		}
	}
	reply, err := s.Service.Invoke(ctx, s.Function, event)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, reply.Body)
	return err
}
