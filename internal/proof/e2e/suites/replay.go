package suites

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/model/recording"
	"github.com/dormouse-dev/dormouse/internal/proof/replay"
)

// The tools that people are asked about if nothing else is said: those of the airline's recordings
// that change something, and some of made-up ones.
const (
	GateOfRecordings = "book_reservation,cancel_reservation,update_reservation_flights,update_reservation_baggages," +
		"update_reservation_passengers,send_certificate,transfer_to_human_agents"
	GateOfMadeUp = "refund,a"
)

const requestFaults = "0.05" // of requests that are sent twice, or whose answer is thrown away

// replayRecordings: conversations come out as they were recorded, though people are asked, requests
// are doubled and functions killed.
func replayRecordings(ctx context.Context, t *Target, b *book) {
	file, conversations, gate, err := t.recordings(b)
	if !b.check("there are recordings", err) {
		return
	}
	agents := filepath.Join(t.Dir, "replay-agents")
	common := []string{file, "--gate", gate, "--limit", strconv.Itoa(t.Limit)}
	_, err = run(ctx, t.environment(), t.Verbs, append([]string{"replay", "--agents-to", agents}, common...)...)
	if err == nil {
		err = t.deploy(ctx, agents)
	}
	if !b.check("an agent for each recording is deployed", err) {
		return
	}
	stop := t.kill()
	defer stop()
	out, err := run(ctx, t.environment(), t.Verbs, append([]string{"replay", "--json", "--target", t.API, "--target-faults", requestFaults,
		"--edits", "0.1", "--denials", "0.1", "--seed", strconv.FormatUint(t.shortSeed(), 10)}, common...)...)
	var report replay.Report
	if wrong := json.Unmarshal([]byte(out), &report); wrong != nil {
		err = errors.Join(err, wrong)
	}
	b.report.Recordings += report.Conversations
	b.report.Mismatches += report.Mismatches
	b.check("every recording comes out as it was recorded", err)
	b.check("not one was left out", allPlayed(report))
	b.check("people were asked about gated calls", asked(report, conversations, gate))
	t.checkKills(b, stop())
	b.say("%d recordings, %d runs, %d decisions, %d edited, %d denied, %d lost calls, %v", report.Conversations, report.Runs, report.Decisions,
		report.Edited, report.Denied, report.Unknown, report.TargetFaults)
}

func allPlayed(report replay.Report) error {
	if len(report.Unplayed) > 0 {
		return fmt.Errorf("%d of %d were not played, first %s; leave them out of the file", len(report.Unplayed),
			len(report.Unplayed)+report.Conversations, report.Unplayed[0])
	}
	if report.Conversations == 0 {
		return errors.New("not one was played; is the file empty?")
	}
	return nil
}

// asked says why nobody was asked about a call: a replay in which no gate ever closes proves
// nothing about gates.
func asked(report replay.Report, conversations []recording.Conversation, gate string) error {
	if report.Decisions > 0 {
		return nil
	}
	calls, gated := map[string]int{}, 0
	for _, c := range conversations {
		for _, m := range c.Messages {
			for _, call := range m.Calls {
				calls[call.Name]++
			}
		}
	}
	for name := range strings.SplitSeq(gate, ",") {
		gated += calls[name]
	}
	if gated > 0 {
		return fmt.Errorf("no decision was made, though %d calls of the recordings are of tools that are gated (%s)", gated, gate)
	}
	return fmt.Errorf("no call of the recordings is of a tool that is gated (%s); name some with --gate: they have %s", gate,
		strings.Join(slices.Sorted(maps.Keys(calls)), ", "))
}

// recordings are the file to play, what of it is played, and the tools that are gated. Made-up
// conversations have tools of their own.
func (t *Target) recordings(b *book) (file string, conversations []recording.Conversation, gate string, err error) {
	if t.Recordings != "" {
		conversations, err = t.read(t.Recordings)
		return t.Recordings, conversations, cmp.Or(t.Gate, GateOfRecordings), err
	}
	file, gate = filepath.Join(t.Dir, "made.jsonl"), cmp.Or(t.Gate, GateOfMadeUp)
	conversations, unplayable, err := madeUp(t.shortSeed(), t.Limit, filepath.Join(t.Dir, "made-agents"))
	if err != nil {
		return file, nil, gate, err
	}
	b.say("%d conversations are made up; %d more are left out, because no server can play them", len(conversations), unplayable)
	var text strings.Builder
	err = errors.Join(recording.Write(&text, conversations), os.WriteFile(file, []byte(text.String()), 0o600))
	return file, conversations, gate, err
}

func (t *Target) read(file string) ([]recording.Conversation, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := recording.Read(f, file)
	if t.Limit > 0 && t.Limit < len(all) {
		all = all[:t.Limit]
	}
	return all, err
}

// mostSeeds bounds how long is looked for conversations that can be played. About one in four can.
const mostSeeds = 50

// madeUp makes n conversations that a server can play, seed after seed, and says how many of those
// it made are none. Most have a call whose arguments are broken: a server fails it and runs no
// tool, so that there is no recorded result to come to. Agents are written into dir only to find
// out.
func madeUp(seed uint64, n int, dir string) (playable []recording.Conversation, unplayable int, err error) {
	for range mostSeeds {
		made := recording.Generate(seed, n, recording.GenerateOptions{})
		_, not, err := replay.WriteAgents(dir, replay.Options{Conversations: made})
		if err != nil {
			return nil, 0, err
		}
		out := map[string]bool{}
		for _, u := range not {
			out[u.Conversation] = true
		}
		for _, c := range made {
			if len(playable) == n {
				return playable, unplayable, nil
			}
			if out[c.ID] {
				unplayable++
			} else {
				playable = append(playable, c)
			}
		}
		seed++
	}
	if len(playable) < n {
		return nil, unplayable, fmt.Errorf("of %d made-up conversations only %d can be played, and %d are wanted; ask for fewer with --limit",
			mostSeeds*n, len(playable), n)
	}
	return playable, unplayable, nil
}

// shortSeed is a seed that is short enough to type.
func (t *Target) shortSeed() uint64 { return t.Seed%1_000_000 + 1 }
