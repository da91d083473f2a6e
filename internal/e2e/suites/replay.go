package suites

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"github.com/dormouse-dev/dormouse/internal/replay"
)

// The tools of the recordings that people are asked about.
const (
	gateOfRecordings = "book_reservation,cancel_reservation,update_reservation_flights,update_reservation_baggages," +
		"update_reservation_passengers,send_certificate,transfer_to_human_agents"
	gateOfMadeUp  = "refund,a"
	requestFaults = "0.05" // of requests that are sent twice, or whose answer is thrown away
)

// replayRecordings: conversations come out as they were recorded, though people are asked, requests are doubled and functions killed.
func replayRecordings(ctx context.Context, t *Target, b *book) {
	file, gate, err := t.recording(ctx)
	if !b.check("there are recordings", err) {
		return
	}
	agents := filepath.Join(t.Dir, "replay-agents")
	common := []string{file, "--gate", gate, "--limit", strconv.Itoa(t.Limit)}
	_, err = t.command(ctx, t.environment(), append([]string{"replay", "--agents-to", agents}, common...)...)
	if !b.check("an agent for each recording is deployed", errors.Join(err, t.deployIfThere(ctx, err == nil, agents))) {
		return
	}
	if t.Platform != nil {
		defer t.kill()()
	}
	out, err := t.command(ctx, t.environment(), append([]string{"replay", "--json", "--target", t.API, "--target-faults", requestFaults,
		"--edits", "0.1", "--denials", "0.1", "--seed", t.seedText()}, common...)...)
	var report replay.Report
	if wrong := json.Unmarshal([]byte(out), &report); wrong != nil {
		err = errors.Join(err, wrong)
	}
	b.report.Recordings += report.Conversations
	b.report.Mismatches += report.Mismatches
	if err == nil && report.Conversations == 0 {
		err = errors.New("not one was played")
	}
	b.check("every recording comes out as it was recorded", err)
	b.say("%d recordings, %d runs, %d decisions, %d edited, %d denied, %d lost calls, %v; %d not played", report.Conversations, report.Runs, report.Decisions,
		report.Edited, report.Denied, report.Unknown, report.TargetFaults, len(report.Unplayed))
}

func (t *Target) deployIfThere(ctx context.Context, written bool, dir string) error {
	if !written {
		return nil
	}
	return t.deploy(ctx, dir)
}

// recording is the file to play, and the tools that are gated. Made-up conversations have tools of their own.
func (t *Target) recording(ctx context.Context) (file, gate string, err error) {
	if t.Recordings != "" {
		return t.Recordings, gateOfRecordings, nil
	}
	out, err := t.command(ctx, t.environment(), "replay", "--generate", strconv.Itoa(t.Limit), "--seed", t.seedText())
	if err != nil {
		return "", "", err
	}
	file = filepath.Join(t.Dir, "made.jsonl")
	return file, gateOfMadeUp, os.WriteFile(file, []byte(out), 0o600)
}

// seedText is a seed that is short enough to type.
func (t *Target) seedText() string { return strconv.FormatUint(t.Seed%1_000_000+1, 10) }
