// Package dynamo keeps heads, inboxes, journals, definitions and keys in one DynamoDB table. It
// implements the store of package engine, and the stores and the catalog of package frontend.
//
// It enforces the conditions of the protocol and nothing more: it sends no wake-up
// ([engine.Written.Woken] is never set), sweeps nothing on its own, creates no table and does not
// judge what callers store, beyond reading it back. It makes no client: see [API] and [Retries].
//
// # Writing
//
// What happens at every step is one conditional UpdateItem of the head: a claim is one write, a
// commit is the put of its segment and then one write. Only that second write makes a segment part
// of the journal. A transaction is used where two items must move together and nowhere else: a
// start on a thread (the head and the record of the run before), and whatever has an idempotency
// key.
//
// A write that landed though its answer was lost is recognised: a refused condition brings the item
// that refused, and what is in it says whose it is.
//
// # Items
//
//	T#tenant#thread   #H                 the head: what conditions read is an attribute of its own, the rest is one JSON text
//	T#tenant#thread   S#seq#stamp        a segment of the journal
//	T#tenant#thread   P#digest           a payload
//	T#tenant#thread   R#run              the record of a run whose place in the head another has taken
//	IDEM#tenant#key   #                  an idempotency key
//	A#tenant#name     V#digest, #CURRENT a version of an agent, and which one is deployed
//	L#tenant#run      L#id               the record of an approval link
//	K#tenants         tenant             who ever deployed
//	K#links           #                  the keys that sign approval links
//
// A body too large for an item stands in pieces, whose keys begin with the key of their item. The
// indexes due, list and approvals hold keys alone; what they say is a hint, and the item is read
// before it is believed.
package dynamo
