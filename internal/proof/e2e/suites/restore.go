package suites

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/aws/restore"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/platform"
	"github.com/dormouse-dev/dormouse/internal/proof/torture"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// restored: a stack is stopped while runs wait and work, its table is restored into another one,
// and a stack with that table goes on: what waited can be answered, and nothing runs twice. The
// servers have no backups, so a copy of the table stands in for one.
func restored(ctx context.Context, t *Target, b *book) {
	if t.Own == nil || t.Service == nil {
		b.say("not run: it starts stacks of its own, which it does not where one is deployed already")
		return
	}
	p, err := t.Own(ctx, "restored", map[string]string{"PrivateHosts": t.Service.Host()}, false)
	if !b.check("a stack is there", err) {
		return
	}
	s := &restoreStory{t: t, b: b}
	s.use(p)
	defer func() { b.check("it is taken down", s.down()) }()
	for _, step := range []func(context.Context) bool{s.begun, s.stopped, s.copied, s.swapped, s.answered, s.once} {
		if !step(ctx) {
			return
		}
	}
}

type restoreStory struct {
	t      *Target
	b      *book
	at     *Target // the stack that is there
	api    *client.Client
	drill  restore.Drill
	kept   restore.Stopped
	runs   []wire.Run
	before string // what the old table held once all was quiet
}

const restoreRuns = 6

// use goes over to a stack.
func (s *restoreStory) use(p *platform.Platform) {
	s.at = s.t.with(p)
	s.at.Tenant, s.at.Token = tenantOfRestore, p.Issuer.Token("proof", tenantOfRestore, []string{"admin"}, time.Hour)
	s.api = s.at.client(s.at.Token)
	s.drill = restore.Drill{Lambda: p.Control(), Tables: copying{p.DB}, Now: time.Now, Wait: restorePause,
		Save: func(kept restore.Stopped) error { s.kept = kept; return nil }, Say: s.b.say}
}

const tenantOfRestore = "restored"

// restorePause is shorter than the drill asks for: steps take seconds here, and a stream, which may
// take longer, writes nothing.
func restorePause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(min(d, 30*time.Second)):
		return nil
	}
}

func (s *restoreStory) down() error {
	s.b.report.count(s.at.Platform.Lambda.Counts())
	return s.at.Platform.Close()
}

func (s *restoreStory) begun(ctx context.Context) bool {
	dir := filepath.Join(s.t.Dir, "restore-agents")
	if !s.b.check("its agent is deployed", errors.Join(s.t.writeDesk(dir), s.at.deploy(ctx, dir))) {
		return false
	}
	for i := range restoreRuns {
		run, err := s.api.StartRun(ctx, wire.StartRequest{Agent: deskAgent, Input: json.RawMessage(request)}, fmt.Sprintf("restore-%d-%d", s.t.Seed, i))
		if err == nil {
			run, err = settled(ctx, s.api, run.ID)
		}
		if !s.b.check(fmt.Sprintf("run %d waits for an answer", i+1), errors.Join(err, waiting(run, 1))) {
			return false
		}
		s.runs = append(s.runs, run)
	}
	if err := s.approve(ctx, 0); !s.b.check("one is approved", err) {
		return false
	}
	run, err := settled(ctx, s.api, s.runs[0].ID)
	return s.b.check("it ends", errors.Join(err, ended(run)))
}

func (s *restoreStory) approve(ctx context.Context, i int) error {
	_, err := s.api.Decide(ctx, s.runs[i].ID, s.runs[i].Pending[0].Approve())
	return err
}

func ended(run wire.Run) error {
	if run.Status != "done" || run.Reason == nil || *run.Reason != "natural_end" {
		return fmt.Errorf("run %s is %s", run.ID, run.Status)
	}
	return nil
}

// stopped stops the stack in the middle of the work on two decisions.
func (s *restoreStory) stopped(ctx context.Context) bool {
	if err := errors.Join(s.approve(ctx, 1), s.approve(ctx, 2)); !s.b.check("two more are approved", err) {
		return false
	}
	if _, err := s.drill.Stop(ctx, s.at.Platform.Stack.Name, nil); !s.b.check("every function is stopped", err) {
		return false
	}
	_, err := s.api.Run(ctx, s.runs[0].ID)
	if err == nil {
		err = errors.New("the API answers")
	} else {
		err = nil
	}
	return s.b.check("callers get no answer", err)
}

func (s *restoreStory) copied(ctx context.Context) bool {
	err := s.drill.Restore(ctx, s.kept, s.to(), time.Time{})
	if err == nil {
		s.before, err = contents(ctx, s.at.DB, s.kept.Table)
	}
	return s.b.check("its table is restored into another one", err)
}

func (s *restoreStory) to() string { return s.kept.Table + "-restored" }

// swapped deploys the stack with the other table. Its queues stay as they are.
func (s *restoreStory) swapped(ctx context.Context) bool {
	if !s.b.check("the functions of before are gone", s.down()) {
		return false
	}
	p, err := s.t.Own(ctx, "restored", map[string]string{"PrivateHosts": s.t.Service.Host(), "ExistingTable": s.to()}, true)
	if !s.b.check("the stack is deployed with that table", err) {
		return false
	}
	kept := s.kept
	s.use(p)
	err = s.drill.Start(ctx, kept, kept.Table)
	if err == nil {
		err = errors.New("it starts with another table than its functions have")
	} else {
		err = s.drill.Start(ctx, kept, s.to())
	}
	s.kept = kept
	return s.b.check("it is started with that table, and with no other", err)
}

func (s *restoreStory) answered(ctx context.Context) bool {
	for i := range s.runs {
		var err error
		if i > 2 {
			err = s.approve(ctx, i)
		}
		run, failed := settled(ctx, s.api, s.runs[i].ID)
		if err = errors.Join(err, failed); err == nil {
			err = ended(run)
		}
		what := "ends, and was approved before"
		if i > 2 {
			what = "is approved and ends"
		}
		if !s.b.check(fmt.Sprintf("run %d %s", i+1, what), err) {
			return false
		}
	}
	return true
}

func (s *restoreStory) once(ctx context.Context) bool {
	effects, err := torture.ReadLedger(s.t.Service.Ledger)
	paid := map[string]int{}
	for _, e := range effects {
		run, _ := e.Of()
		paid[run]++
	}
	for _, run := range s.runs {
		if n := paid[run.ID]; n != 1 {
			err = errors.Join(err, fmt.Errorf("the ledger holds %d refunds of the run %s", n, run.ID))
		}
	}
	if !s.b.check("the money of each run went out once", err) {
		return false
	}
	after, err := contents(ctx, s.at.DB, s.kept.Table)
	if err == nil && after != s.before {
		err = errors.New("the old table has changed")
	}
	return s.b.check("nothing has written to the old table", err)
}

// copying is a server that has no backups: it restores by a copy of what is there.
type copying struct{ *dynamodb.Client }

// DescribeContinuousBackups says that everything is backed up.
func (c copying) DescribeContinuousBackups(context.Context, *dynamodb.DescribeContinuousBackupsInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeContinuousBackupsOutput, error) {
	now := time.Now()
	return &dynamodb.DescribeContinuousBackupsOutput{ContinuousBackupsDescription: &types.ContinuousBackupsDescription{
		PointInTimeRecoveryDescription: &types.PointInTimeRecoveryDescription{LatestRestorableDateTime: &now}}}, nil
}

// UpdateContinuousBackups and UpdateTable do nothing here: the servers have neither backups nor
// protection.
func (c copying) UpdateContinuousBackups(context.Context, *dynamodb.UpdateContinuousBackupsInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateContinuousBackupsOutput, error) {
	return &dynamodb.UpdateContinuousBackupsOutput{}, nil
}

func (c copying) UpdateTable(context.Context, *dynamodb.UpdateTableInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTableOutput, error) {
	return &dynamodb.UpdateTableOutput{}, nil
}

// RestoreTableToPointInTime copies the table.
func (c copying) RestoreTableToPointInTime(ctx context.Context, in *dynamodb.RestoreTableToPointInTimeInput, _ ...func(*dynamodb.Options)) (*dynamodb.RestoreTableToPointInTimeOutput, error) {
	if _, err := c.CreateTable(ctx, dynamo.Schema(*in.TargetTableName)); err != nil {
		return nil, err
	}
	err := scan(ctx, c.Client, *in.SourceTableName, func(it map[string]types.AttributeValue) error {
		_, err := c.PutItem(ctx, &dynamodb.PutItemInput{TableName: in.TargetTableName, Item: it})
		return err
	})
	return &dynamodb.RestoreTableToPointInTimeOutput{}, err
}

func scan(ctx context.Context, db *dynamodb.Client, table string, each func(map[string]types.AttributeValue) error) error {
	pages := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: &table})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, it := range page.Items {
			if err := each(it); err != nil {
				return err
			}
		}
	}
	return nil
}

// contents are the keys of a table with what tells one state of an item from another.
func contents(ctx context.Context, db *dynamodb.Client, table string) (string, error) {
	all := map[string]string{}
	err := scan(ctx, db, table, func(it map[string]types.AttributeValue) error {
		key := fmt.Sprint(valueText(it["pk"]), " ", valueText(it["sk"]))
		for name := range maps.Keys(it) {
			all[key+" "+name] = valueText(it[name])
		}
		return nil
	})
	return fmt.Sprint(all), err
}

// valueText shows a value with everything in it.
func valueText(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberB:
		return string(v.Value)
	case *types.AttributeValueMemberM:
		inner := map[string]string{}
		for name, one := range v.Value {
			inner[name] = valueText(one)
		}
		return fmt.Sprint(inner)
	case *types.AttributeValueMemberL:
		inner := []string{}
		for _, one := range v.Value {
			inner = append(inner, valueText(one))
		}
		return fmt.Sprint(inner)
	}
	return fmt.Sprintf("%T", v)
}
