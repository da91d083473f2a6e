package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/narrate"
	"github.com/dormouse-dev/dormouse/internal/cli/runs"
)

const (
	agentName = "refund-desk"
	request   = "Refund order A-17, it arrived broken"
	patience  = 20 * time.Second // the longest the server holds an answer
)

// story is the demo in its steps; each prints what it saw.
type story struct {
	options
	data   string
	step   int
	server *server
	run    wire.Run
	power  []moment // what happened to the server, which no run's log tells
}

// moment is something that happened to the server.
type moment struct {
	at   time.Time
	what string
}

func (s *story) play(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		s.start, s.ask, s.crash, s.start, s.stillWaiting, s.approve, s.transcript, s.timeline, s.once,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *story) say(format string, args ...any) {
	s.step++
	fmt.Fprintf(s.out, "%2d. %s\n", s.step, fmt.Sprintf(format, args...))
}

func (s *story) show(format string, args ...any) {
	fmt.Fprintln(s.out, strings.TrimRight("    "+fmt.Sprintf(format, args...), " "))
}

func (s *story) start(ctx context.Context) error {
	server, err := startServer(ctx, s.options, s.data)
	if err != nil {
		return err
	}
	again := ""
	if s.server != nil {
		again = " again, on the same data"
		s.power = append(s.power, moment{time.Now(), "server started again"})
	}
	s.server = server
	s.say("server started%s: process %d at %s", again, server.cmd.Process.Pid, server.url)
	return nil
}

func (s *story) ask(ctx context.Context) error {
	input, err := json.Marshal(request)
	if err != nil {
		return err
	}
	run, err := s.server.api.StartRun(ctx, wire.StartRequest{Agent: agentName, Input: input}, "demo")
	if err != nil {
		return fmt.Errorf("starting the run: %w", err)
	}
	s.say("run started: %s, asked: %q", run.ID, request)
	if s.run, err = s.settled(ctx, run.ID); err != nil {
		return err
	}
	return s.showWaiting()
}

// settled waits until the run waits for somebody or is done.
func (s *story) settled(ctx context.Context, id string) (wire.Run, error) {
	for {
		run, err := s.server.api.PollRun(ctx, id, patience)
		if err != nil || run.Status == "waiting" || run.Status == "done" {
			return run, err
		}
	}
}

func (s *story) showWaiting() error {
	if s.run.Status != "waiting" || len(s.run.Pending) != 1 {
		return fmt.Errorf("the run should wait for one answer; it is %s with %d pending", s.run.Status, len(s.run.Pending))
	}
	p := s.run.Pending[0]
	s.say("the run is %s for an answer, after %d steps", s.run.Status, s.run.Steps)
	s.show("%s %s (%s, %s)", p.Tool, p.Arguments, p.Kind, p.Suspension.ID)
	if p.Suspension.Message != "" {
		s.show("%s", p.Suspension.Message)
	}
	return s.refunds(0)
}

func (s *story) crash(ctx context.Context) error {
	how, err := s.server.kill()
	if err != nil {
		return fmt.Errorf("killing the server: %w", err)
	}
	if _, err := s.server.api.Health(ctx); err == nil {
		return errors.New("the server was killed and still answers")
	}
	s.power = append(s.power, moment{time.Now(), "server killed"})
	s.say("server killed with SIGKILL (%s); nothing answers at %s", how, s.server.url)
	return nil
}

func (s *story) stillWaiting(ctx context.Context) error {
	before := s.run.Pending[0].Suspension.ID
	run, err := s.server.api.Run(ctx, s.run.ID)
	if err != nil {
		return fmt.Errorf("reading the run after the restart: %w", err)
	}
	s.run = run
	if err := s.showWaiting(); err != nil {
		return err
	}
	if now := run.Pending[0].Suspension.ID; now != before {
		return fmt.Errorf("the run waits on %s, and waited on %s before", now, before)
	}
	return nil
}

func (s *story) approve(ctx context.Context) error {
	answer, err := s.server.api.Decide(ctx, s.run.ID, wire.Decision{
		DecisionID: "demo-yes", Target: s.run.Pending[0].Suspension.ID, Action: "resume", Reason: "the photos show the damage",
	})
	if err != nil {
		return fmt.Errorf("deciding: %w", err)
	}
	s.say("decision sent, approve: %s", answer.Code)
	if s.run, err = s.settled(ctx, s.run.ID); err != nil {
		return err
	}
	if s.run.Status != "done" || s.run.Reason == nil || *s.run.Reason != "natural_end" {
		return fmt.Errorf("the run should be done; it is %s", s.run.Status)
	}
	s.say("the run is done (%s): %d steps in %d activations", *s.run.Reason, s.run.Steps, s.run.Activations)
	return nil
}

func (s *story) transcript(ctx context.Context) error {
	messages, err := client.Collect(s.server.api.Messages(ctx, s.run.ThreadID, client.MessageOptions{}))
	if err != nil {
		return fmt.Errorf("reading the conversation: %w", err)
	}
	s.say("the conversation:")
	for _, row := range runs.Transcript(messages) {
		s.show("%-12s  %s", row[0], row[1])
	}
	return nil
}

func (s *story) timeline(ctx context.Context) error {
	events, err := allEvents(ctx, s.server.api, s.run.ID)
	if err != nil {
		return fmt.Errorf("reading the events: %w", err)
	}
	if len(events) == 0 {
		return errors.New("the run's log is empty")
	}
	s.say("what happened when, from the run's log:")
	start, power := events[0].At.Time, s.power
	for _, e := range events {
		for len(power) > 0 && power[0].at.Before(e.At.Time) {
			s.show("%+8.3fs  -- %s --", power[0].at.Sub(start).Seconds(), power[0].what)
			power = power[1:]
		}
		s.show("%+8.3fs  %-17s  %s", e.At.Sub(start).Seconds(), e.Type, narrate.Describe(e))
	}
	return nil
}

func allEvents(ctx context.Context, api *client.Client, run string) ([]wire.Event, error) {
	var events []wire.Event
	after := ""
	for {
		page, err := api.EventPage(ctx, run, client.EventQuery{After: after, Limit: 100})
		if err != nil {
			return nil, err
		}
		events = append(events, page.Items...)
		after = page.Next
		if page.Done || len(page.Items) == 0 {
			return events, nil
		}
	}
}

// once checks the ledger: exactly one refund, the one that was asked for.
func (s *story) once(context.Context) error {
	if err := s.refunds(1); err != nil {
		return err
	}
	entries, err := ledger(s.data).Entries()
	if err != nil {
		return err
	}
	s.say("the ledger holds exactly one refund: order %s, %d, key %s", entries[0].Order, entries[0].Amount, entries[0].Key)
	return nil
}

// refunds checks how many refunds the ledger holds.
func (s *story) refunds(want int) error {
	entries, err := ledger(s.data).Entries()
	if err != nil {
		return err
	}
	if len(entries) != want {
		return fmt.Errorf("the ledger should hold %d refunds and holds %d", want, len(entries))
	}
	return nil
}
