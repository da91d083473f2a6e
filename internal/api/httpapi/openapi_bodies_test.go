package httpapi

// bodies are examples of what calls take, for the document and its curl lines.
var bodies = []struct{ call, name, about, body string }{
	{"startRun", "text", "A text", `{"agent":"desk","input":"Refund order A-17, it arrived broken"}`},
	{"startRun", "narrowed", "With metadata and restricted permissions",
		`{"agent":"desk","input":[{"type":"text","text":"Refund order A-17"}],"metadata":{"ticket":4711},"permissions":{"deny":["wire_*"]},"memory":false}`},
	{"startRun", "image", "A text and an image",
		`{"agent":"desk","input":[{"type":"text","text":"Is this the cup of order A-17?"},{"type":"image","media_type":"image/gif","data":"R0lGODlhAQABAAAAACw="}]}`},
	{"startRun", "notify", "With a callback at the end", `{"agent":"desk","input":"Refund order A-17","notify":[{"name":"ci","on":["done"],"url":"https://ci.example.com/hook","secret":"CALLBACK_CI"}]}`},
	{"startRun", "thread key", "In a conversation with your own key", `{"agent":"desk","thread_key":"chat-7","message_id":"msg-1","input":"Where is my order?"}`},
	{"sendMessage", "document", "A document", `{"input":[{"type":"document","media_type":"text/csv","name":"orders","data":"b3JkZXIsYW1vdW50CkEtMTcsODAK"}]}`},
	{"sendMessage", "text", "A text", `{"input":"And what about order B-02?"}`},
	{"sendMessage", "queue", "Queued behind a suspended run", `{"input":[{"type":"text","text":"And what about order B-02?"}],"on_pending":"queue"}`},
	{"decide", "yes", "Approve", `{"target":"sus_2_qcxsnhzekczzodc7","action":"resume"}`},
	{"decide", "edited", "Approve with edited arguments", `{"target":"sus_2_qcxsnhzekczzodc7","action":"resume","arguments":{"order":"A-17","amount":60},"reason":"half of it"}`},
	{"decide", "no", "Deny", `{"target":"sus_2_qcxsnhzekczzodc7","action":"cancel","reason":"it was not broken"}`},
	{"decide", "result", "The result of a client call", `{"target":"sus_2_qcxsnhzekczzodc7","result":{"city":"Rome"}}`},
	{"decide", "several", "Several at once", `{"decisions":[{"target":"call_1","action":"resume"},{"target":"call_2","action":"cancel"}]}`},
	{"decide", "together", "Several, all or none", `{"decisions":[{"target":"call_1","action":"resume"},{"target":"call_2","action":"resume"}],"all_or_none":true}`},
	{"answerSuspension", "yes", "Approve", `{"action":"resume"}`},
	{"makeLink", "one", "For one person, valid for four hours", `{"target":"sus_2_qcxsnhzekczzodc7","for":"anna@example.com","expires_in":14400}`},
	{"answerLink", "yes", "Approve", `{"action":"resume"}`},
	{"resumeRun", "reason", "With a reason", `{"reason":"the shop is open again"}`},
}
