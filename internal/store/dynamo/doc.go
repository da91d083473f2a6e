// Package dynamo stores heads, inboxes, journals, definitions and keys in one DynamoDB table. It
// implements the store of package engine, and the stores and the catalog of package frontend.
//
// It enforces the conditions of the protocol and nothing more. It sends no wake-ups
// ([engine.Written.Woken] is never set), starts no sweep, creates no table, and validates
// what callers store only when it reads it back. It creates no client; see [API] and [Retries].
//
// # Writes
//
// Every step is one conditional UpdateItem of the head: a claim is one write, and a commit is a put
// of its segment followed by one write. Only that second write makes the segment part of the
// journal. A transaction is used only where two items must change together: for a start on an
// existing thread (the head and the record of the previous run), and for every request with an
// idempotency key.
//
// A write that landed although its answer was lost is recognized: a refused condition returns the
// item that refused it, and the item shows whose write it holds.
//
// # Items
//
//	T#tenant#thread   #H                 the head: each value in a condition is an attribute,
//	                                     the rest is one JSON text
//	T#tenant#thread   S#seq#stamp        a segment of the journal
//	T#tenant#thread   P#digest           a payload
//	T#tenant#thread   R#run              the record of a run that the head no longer holds
//	T#tenant#thread   N#endpoint         a delivery line: what the thread owes an endpoint
//	T#tenant#thread   NR#endpoint#event  the record of a notice that was delivered, or is dead
//	IDEM#tenant#key   #                  an idempotency key
//	A#tenant#name     V#digest, #CURRENT a version of an agent, and the deployed one
//	L#tenant#run      L#id               the record of an approval link
//	K#tenants         tenant             a tenant that has ever deployed
//	K#links           #                  the keys that sign approval links
//
// A body that is too large for an item is stored in pieces, whose keys begin with the key of their
// item. The indexes due, list and approvals contain only keys. An index is a hint: the item is read
// before it is used.
package dynamo
