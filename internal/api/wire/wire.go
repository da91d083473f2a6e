// Package wire names the JSON shapes of the HTTP API, version 1, for the server. The types that
// callers see are those of the public package client; only what a caller never needs is defined
// here. It decides nothing and knows no HTTP.
package wire

import "github.com/dormouse-dev/dormouse/client"

// The shapes of requests, answers and events.
type (
	ActivationEndedData   = client.ActivationEndedData
	Actor                 = client.Actor
	Agent                 = client.Agent
	Answer                = client.Answer
	Approval              = client.Approval
	Ask                   = client.Ask
	AskCallback           = client.AskCallback
	AskRequest            = client.AskRequest
	Bulk                  = client.Bulk
	BulkQuestion          = client.BulkQuestion
	Call                  = client.Call
	CallEndedData         = client.CallEndedData
	CallRemindedData      = client.CallRemindedData
	ChildStartedData      = client.ChildStartedData
	ChildEndedData        = client.ChildEndedData
	CallInvalidAnswerData = client.CallInvalidAnswerData
	DecisionRefusedData   = client.DecisionRefusedData
	DecisionWithdrawnData = client.DecisionWithdrawnData
	CallInvalidData       = client.CallInvalidData
	CallProgressData      = client.CallProgressData
	CallReadyData         = client.CallReadyData
	CallResumingData      = client.CallResumingData
	CallStartedData       = client.CallStartedData
	ChildRun              = client.ChildRun
	Counts                = client.Counts
	Decision              = client.Decision
	DecisionAnswer        = client.DecisionAnswer
	DecisionAnswers       = client.DecisionAnswers
	DecisionPage          = client.DecisionPage
	DecisionRecordedData  = client.DecisionRecordedData
	Decisions             = client.Decisions
	Delivery              = client.Delivery
	DeliveryAttempt       = client.DeliveryAttempt
	DeltaData             = client.DeltaData
	DisabledEndpoint      = client.DisabledEndpoint
	EndpointRequest       = client.EndpointRequest
	Event                 = client.Event
	EventPage             = client.EventPage
	FailureData           = client.FailureData
	FeedPage              = client.FeedPage
	Health                = client.Health
	InboxCount            = client.InboxCount
	InboxPage             = client.InboxPage
	Link                  = client.Link
	LinkRequest           = client.LinkRequest
	Me                    = client.Me
	Message               = client.Message
	MessageQueuedData     = client.MessageQueuedData
	MessageReceivedData   = client.MessageReceivedData
	MessageRequest        = client.MessageRequest
	NotifyTarget          = client.NotifyTarget
	Ops                   = client.Ops
	OpsBudget             = client.OpsBudget
	OpsCount              = client.OpsCount
	OpsHour               = client.OpsHour
	Outcome               = client.Outcome
	OutcomeDecision       = client.OutcomeDecision
	Page[T any]           = client.Page[T]
	Part                  = client.Part
	PathStep              = client.PathStep
	ParentRun             = client.ParentRun
	Pending               = client.Pending
	Preview               = client.Preview
	RecordedDecision      = client.RecordedDecision
	RedriveRequest        = client.RedriveRequest
	Redriven              = client.Redriven
	Request               = client.Request
	RemoteEndedData       = client.RemoteEndedData
	RemoteStartedData     = client.RemoteStartedData
	RemoteTask            = client.RemoteTask
	RequestRecordedData   = client.RequestRecordedData
	ResumeRequest         = client.ResumeRequest
	Run                   = client.Run
	RunEndedData          = client.RunEndedData
	RunError              = client.RunError
	RunStartedData        = client.RunStartedData
	RunStatusData         = client.RunStatusData
	SaidData              = client.SaidData
	StartRequest          = client.StartRequest
	ClientTool            = client.ClientTool
	ContextItem           = client.ContextItem
	StateDeltaData        = client.StateDeltaData
	StateOp               = client.StateOp
	StateSnapshotData     = client.StateSnapshotData
	StepResetData         = client.StepResetData
	StepStartedData       = client.StepStartedData
	StepUsage             = client.StepUsage
	Supplied              = client.Supplied
	Suspension            = client.Suspension
	Thread                = client.Thread
	Time                  = client.Time
	Tool                  = client.Tool
	TreeUsage             = client.TreeUsage
	ToolCall              = client.ToolCall
	ToolDetails           = client.ToolDetails
	TitlePart             = client.TitlePart
	TurnEndedData         = client.TurnEndedData
	TurnStartedData       = client.TurnStartedData
	Usage                 = client.Usage
	DayUsage              = client.DayUsage
	AgentUsage            = client.AgentUsage
	RunsUsage             = client.RunsUsage
	Cost                  = client.Cost
	Voter                 = client.Voter
	Votes                 = client.Votes
	Warning               = client.Warning
	Webhook               = client.Webhook
	WebhookChange         = client.WebhookChange
	WebhookRequest        = client.WebhookRequest
	WebhookTest           = client.WebhookTest
	Winner                = client.Winner
	Work                  = client.Work
)

// The states of a delivery.
const (
	DeliveryWaiting   = client.DeliveryWaiting
	DeliveryDelivered = client.DeliveryDelivered
	DeliveryDead      = client.DeliveryDead
)

// The statuses of an ask.
const (
	AskWaiting   = client.AskWaiting
	AskApproved  = client.AskApproved
	AskDenied    = client.AskDenied
	AskTimedOut  = client.AskTimedOut
	AskCancelled = client.AskCancelled
)

// The states of a server, and the problems of a store.
const (
	HealthOK       = client.HealthOK
	HealthFailing  = client.HealthFailing
	StorageFull    = client.StorageFull
	StorageFailing = client.StorageFailing
	StorageDamaged = client.StorageDamaged
	StorageGone    = client.StorageGone
)

const (
	// EventVersion is the version of the shapes of events. Members may be added to a shape;
	// changing or removing one raises it.
	EventVersion = client.EventVersion
	// TimeFormat is how the API writes times.
	TimeFormat = client.TimeFormat
)
