package template

import (
	"fmt"
	"slices"
	"strings"
)

var queueChecks = []check{
	{"a queue hides a message for six times as long as its function may take", visibilityWrongs, []breakage{
		{"{Visibility: 5400", "{Visibility: 5399"},
		{"VisibilityTimeout: !FindInMap [StepSeconds, !Ref StepTimeout, Visibility]", "VisibilityTimeout: 60"},
		{"VisibilityTimeout: !FindInMap [StepSeconds, !Ref StepTimeout, Visibility]", "VisibilityTimeout: !FindInMap [StepSeconds, !Ref LogRetentionDays, Visibility]"},
		{"VisibilityTimeout: 720", "VisibilityTimeout: 719"},
		{"VisibilityTimeout: 180", "VisibilityTimeout: 179"},
		{`AllowedValues: ["60", "120", "300", "600", "900"]`, `AllowedValues: ["60", "120", "300", "600", "840", "900"]`}}},
	{"a message is given back at least five times, then kept for longer than its queue kept it", redriveWrongs, []breakage{
		{"maxReceiveCount: 5", "maxReceiveCount: 4"},
		{"      RedrivePolicy: {deadLetterTargetArn: !GetAtt IntakeDeadQueue.Arn, maxReceiveCount: 5}\n", ""},
		{"MessageRetentionPeriod: 1209600", "MessageRetentionPeriod: 604799"},
		{"!GetAtt WakeDeadQueue.Arn, max", "!GetAtt IntakeDeadQueue.Arn, max"}}},
	{"a queue gives its function one message, and takes back what failed", mappingWrongs, []breakage{
		{"BatchSize: 1", "BatchSize: 10"},
		{"            FunctionResponseTypes: [ReportBatchItemFailures]\n", ""},
		{"            ScalingConfig: {MaximumConcurrency: !Ref StepConcurrency}\n", ""},
		{"            ScalingConfig: {MaximumConcurrency: !Ref NotifyConcurrency}\n", ""},
		{"            ScalingConfig: {MaximumConcurrency: !Ref IntakeConcurrency}\n", ""},
		{"Queue: !GetAtt IntakeQueue.Arn", "Queue: !GetAtt WakeQueue.Arn"}}},
	{"a queue that is the only copy of a request outlives the stack, and no other", outlivingWrongs, []breakage{
		{"  IntakeDeadQueue:\n    Type: AWS::SQS::Queue\n    DeletionPolicy: RetainExceptOnCreate\n", "  IntakeDeadQueue:\n    Type: AWS::SQS::Queue\n    DeletionPolicy: Delete\n"},
		{"    DeletionPolicy: Delete\n", ""}}},
}

func outlivingWrongs(t Template) (wrong []string) {
	for _, q := range t.All("AWS::SQS::Queue") {
		want := [2]any{"Delete", "Delete"}
		if strings.HasPrefix(q.ID, "Intake") {
			want = [2]any{"RetainExceptOnCreate", "Retain"}
		}
		if have := [2]any{q.Body["DeletionPolicy"], q.Body["UpdateReplacePolicy"]}; have != want {
			wrong = append(wrong, fmt.Sprintf("%s: DeletionPolicy and UpdateReplacePolicy are %v, and must be %v", q.ID, have, want))
		}
	}
	return wrong
}

// taken is a queue and the event by which a function takes its messages.
type taken struct{ queue, function, event Resource }

func (t Template) taken() (all []taken) {
	for _, f := range t.Functions() {
		for _, e := range f.Events("SQS") {
			all = append(all, taken{t.Resource(attributeOf(e.Get("Queue"), "Arn")), f, e})
		}
	}
	return all
}

// visibilityWrongs compares value by value: which one of each holds is decided by the same
// parameter, or else the worst of both count.
func visibilityWrongs(t Template) (wrong []string) {
	for _, q := range t.taken() {
		byHidden, hidden := t.values(q.queue.Get("VisibilityTimeout"))
		byTimeout, timeouts := t.values(q.function.Get("Timeout"))
		if len(hidden) == 0 || len(timeouts) == 0 {
			wrong = append(wrong, fmt.Sprintf("%s or %s: the seconds do not resolve with every value of their parameter", q.queue.ID, q.function.ID))
			continue
		}
		if byHidden != byTimeout {
			hidden, timeouts = []int{slices.Min(hidden)}, []int{slices.Max(timeouts)}
		}
		for i, timeout := range timeouts {
			if hidden[i] < 6*timeout {
				wrong = append(wrong, fmt.Sprintf("%s hides a message for %d s, and %s may take %d s; make it %d at least",
					q.queue.ID, hidden[i], q.function.ID, timeout, 6*timeout))
			}
		}
	}
	return wrong
}

func redriveWrongs(t Template) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	seen := map[string]string{}
	for _, q := range t.taken() {
		dead := t.Resource(attributeOf(q.queue.Get("RedrivePolicy", "deadLetterTargetArn"), "Arn"))
		if dead.Get("MessageRetentionPeriod") == nil {
			say("%s has no queue of this stack for dead letters", q.queue.ID)
			continue
		}
		if other := seen[dead.ID]; other != "" {
			say("%s is for the dead letters of %s and %s; give each its own", dead.ID, other, q.queue.ID)
		}
		seen[dead.ID] = q.queue.ID
		if n, _ := q.queue.Get("RedrivePolicy", "maxReceiveCount").(int); n < 5 {
			say("%s gives up after %d receives; a mapping that is throttled uses some up, so take 5", q.queue.ID, n)
		}
		// A dead letter keeps the age that it had in its queue.
		kept, _ := dead.Get("MessageRetentionPeriod").(int)
		before, _ := q.queue.Get("MessageRetentionPeriod").(int)
		if before == 0 || kept <= before || kept < 1209600 {
			say("%s keeps a message for %d s and %s for %d s; the second takes 14 days, and more than the first", q.queue.ID, before, dead.ID, kept)
		}
	}
	return wrong
}

func mappingWrongs(t Template) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	var queues []string
	for _, q := range t.taken() {
		queues = append(queues, q.queue.ID+" by "+q.function.ID)
		if n := q.event.Get("BatchSize"); n != 1 {
			say("%s takes %v messages at once; a step or a delivery is one message", q.event.ID, n)
		}
		if kinds := List(q.event.Get("FunctionResponseTypes")); !slices.Contains(kinds, any("ReportBatchItemFailures")) {
			say("%s must report failed messages with ReportBatchItemFailures, or Lambda deletes them", q.event.ID)
		}
		if q.event.Get("ScalingConfig", "MaximumConcurrency") == nil {
			say("%s has no MaximumConcurrency", q.event.ID)
		}
	}
	slices.Sort(queues)
	if want := []string{"IntakeQueue by IntakeFunction", "NotifyQueue by NotifyFunction", "WakeQueue by StepFunction"}; !slices.Equal(queues, want) {
		say("queues are taken %v, and must be %v", queues, want)
	}
	return wrong
}
