package httpapi

// conventions is what docs/reference/api.md begins with.
const conventions = `# The HTTP API

JSON over HTTP, version 1. ` + "`GET /openapi.json`" + ` is the same as an OpenAPI 3.1 document. This page is generated from the routes and the types of the
server, and the examples from what it answered; tests hold all of it together. First what holds for all calls, then each call.

## What holds for all calls

**JSON.** Bodies are one JSON object in UTF-8 of at most 1 MiB, sent as ` + "`application/json`" + `. A member that the call does not know is refused with
` + "`unknown_field`" + `, and so is a parameter; so is a member that is there twice, and nesting of more than 256 levels. A member that may be
left out may be ` + "`null`" + ` instead, and a parameter empty. Answers may get more members later: pass over those you do not know.

**Ids** are opaque texts; only their prefixes mean something: ` + "`run_`, `thr_`, `sus_`" + ` (a suspension: a call that waits). What belongs to another
tenant is not found.

**Times** are RFC 3339 in UTC with milliseconds: ` + "`2026-03-01T12:00:00.000Z`" + `.

**Problems.** Every refusal is an ` + "`application/problem+json`" + ` document with a ` + "`code`" + ` that does not change and a ` + "`detail`" + ` that is safe to show.
[Problems](errors.md) lists all codes. Every call may answer these, which are not repeated below:

| status | codes |
|--:|---|
| 400 | ` + "`unknown_field`, `invalid_request`" + `; with a body ` + "`malformed_body`" + ` |
| 401 | ` + "`unauthorized`" + `, with ` + "`WWW-Authenticate`" + ` |
| 403 | ` + "`forbidden`" + ` (another site, or a host that is not served), ` + "`role_required`" + `; on AWS ` + "`not_admitted`" + ` |
| 404 | ` + "`not_found`" + `: no such path, also for an id of dots |
| 405 | ` + "`method_not_allowed`" + `, with ` + "`Allow`" + ` |
| 413, 415 | with a body: ` + "`too_large`, `unsupported_media_type`" + ` |
| 500 | ` + "`internal`" + `: a fault of the server |
| 503 | ` + "`unavailable`" + `, with ` + "`Retry-After`" + `: the request may or may not have been stored; send the same one again |
| 503 | ` + "`storage_failing`, `storage_damaged`, `storage_gone`, `storage_denied`, `unreadable`" + `: the store can't do it until its operator has done something. Without ` + "`Retry-After`" + `; only after ` + "`storage_failing`" + ` may the request have been stored |
| 507 | ` + "`disk_full`" + `, with ` + "`Retry-After`" + `, of calls that store something: nothing was stored, reads go on |

**Tokens and tenants.** A server that was started with tokens wants ` + "`Authorization: Bearer TOKEN`" + `. A token is for one tenant and has roles:

| role | may |
|---|---|
| ` + "`start`" + ` | start runs, send messages (one lets an interrupted run go on), interrupt, cancel, retry |
| ` + "`read`" + ` | read everything of the tenant |
| ` + "`decide`" + ` | see what waits, answer it, interrupt, resume, cancel |
| ` + "`link`" + ` | see what waits; make, list and revoke approval links. A link hands on the right to decide, so this role is as strong as ` + "`decide`" + `, and no other role but ` + "`admin`" + ` has it |
| ` + "`admin`" + ` | all of that |

A server without tokens listens on a loopback address, answers only to loopback host names, and lets everybody in. Pages of other sites may call
only if the server was started with their origin (` + "`--cors-origin`" + `).

**Keys.** Calls that start something take an ` + "`Idempotency-Key`" + ` header of at most 255 bytes. The same key with the same body has the effect of one
request: the first is answered with 202, each repeat with 200 and the same run. With another body it is refused with
` + "`idempotency_mismatch`" + `. A key belongs to one kind of request of a tenant: starting a conversation, starting a run in a conversation, sending a message, or
retrying. The keys of a conversation are kept for 30 days. Without a key, a request that got no answer may have been stored.

**Pages.** Lists answer ` + "`items`" + ` and, if there is more, ` + "`next`" + `, which is the ` + "`cursor`" + ` of the next page. A page may be short, even empty, while
` + "`next`" + ` says that there is more. A ` + "`limit`" + ` that is larger than allowed is taken for the largest, 0 for the usual one. Cursors are opaque. Send one to
the list that returned it, with the same filters.

**Waiting for something.** Three ways: ` + "`Prefer: wait=N`" + ` on a run holds the answer until the run waits for somebody or is done; ` + "`wait=N`" + ` on pages of
events holds it until there is an event; a stream sends events as they come. N is at most 20 seconds; the answer may come
earlier, with nothing new.

**A model that does not answer.** The run keeps the status ` + "`running`" + ` and has ` + "`waiting_on: model`" + `, with ` + "`code`" + ` and ` + "`detail`" + ` (why), ` + "`waiting_since`" + `
and ` + "`next_attempt_at`" + `; each failed attempt is an event ` + "`step.reset`" + ` with ` + "`try`" + ` and ` + "`try_at`" + `. It goes on by itself. It ends in ` + "`error`" + ` with the code
` + "`model_unavailable`" + ` once the outage has lasted as long as the agent allows (` + "`model.outage`" + `, 24 hours by default).

**Streams.** Events are sent as server-sent events: ` + "`id`" + ` is the cursor, ` + "`event`" + ` the type, ` + "`data`" + ` the event as JSON; comments keep a silent stream open.
A reader that comes back with the cursor of the last event it got, as ` + "`Last-Event-ID`" + ` or ` + "`after`" + `, misses nothing and sees nothing twice; only the stream of
` + "`GET /v1/events`" + ` may repeat an event. A stream may
end at any event, at the latest after 15 minutes: open it again. So many may be open at once, else 429 ` + "`too_many_streams`" + `. A stream may be served at another
address: then it is answered with 307 and a ticket, good for one minute, and clients that follow redirects notice nothing. A lost stream is asked for at the first address again.

**Live text.** Behind all that is committed, a stream sends what the model is saying just now: ` + "`text.delta`" + ` and ` + "`reasoning.delta`" + ` with the ` + "`part_id`" + ` of what is being
said, the ` + "`attempt`" + ` that says it, the ` + "`offset`" + ` of the piece in bytes of UTF-8, and its ` + "`text`" + `. Their ` + "`seq`" + ` is that of the last committed event. Who comes late gets
what was said so far as one piece; who comes back with the ` + "`id`" + ` of one gets what follows. A reader keeps the text of each part and does three things: a delta is put behind
the text of its part; ` + "`text.ended`" + ` and ` + "`reasoning.ended`" + `, which are committed, take the place of it; ` + "`step.reset`" + ` empties every part that has not ended, since that attempt
of the model does not count. So what is shown is never put together from two attempts, and what stays is what the journal says. Deltas are not stored: pages of JSON hold them only
while they are held (` + "`wait`" + `), and no reader can count on any. There are none on AWS, where the function that asks the model and the one that serves the reader share nothing but
what is committed; in front of a gateway that buffers; for what another process on the same data says; and beyond the first 256 KiB of a turn. There the whole text comes with the commit.

**Inputs and messages.** An ` + "`input`" + ` is a text, or a list of parts: ` + "`text`, `image` (PNG, JPEG, GIF, WebP) and `document`" + ` (PDF, text, CSV, HTML, Markdown, Word,
Excel), these two with their bytes in base64: ` + "`{\"type\":\"image\",\"media_type\":\"image/png\",\"data\":\"iVBO...\"}`" + `; a document may have a ` + "`name`" + `. The bound on bodies leaves about 740 KB for them. What is in a file is not looked at: a model that cannot read it says so. A message
is shown with its ` + "`text`" + ` and, if it is made of more than text, with all its ` + "`parts`" + `; bytes are in them where ` + "`data=true`" + ` asks for that. Reasoning is a part as well; what
its provider seals is shown to nobody.

**On AWS** the authorizer of the gateway lets callers in, with a JWT or a signature of IAM, and the API believes it: which tenant and roles a JWT stands for is in the claims that
the stack's parameters name, and a caller who signs with IAM has the roles that the stack's parameter IAMRoles gives to its ARN, or else ` + "`read`" + ` alone. A caller whose tenant or roles the claims do not say gets
403 ` + "`not_admitted`" + `. A link that such a caller made is good until it expires or is revoked, even if the caller is no longer let in. To end all links at once, remove the key that
signs them.

**Decisions.** A call that waits is answered with a decision on its suspension. What the decision must hold depends on the ` + "`kind`" + ` of the call:

| kind | yes | no | other |
|---|---|---|---|
| ` + "`approval`" + ` | ` + "`action: resume`" + `, perhaps with edited ` + "`arguments`" + ` and a ` + "`grant`" + ` | ` + "`action: cancel`" + `, or an ` + "`error`" + ` | without an action, a ` + "`result`" + ` of true or false, or a word such as "yes" |
| ` + "`client`, `input`" + ` | ` + "`result`" + `, which must fit the response schema | ` + "`action: cancel`" + ` | ` + "`error`" + `: the call failed, and the model is told |
| ` + "`unknown_outcome`" + ` | ` + "`result`" + `: it happened, with this | ` + "`action: cancel`" + `: leave it | ` + "`error`" + `: it failed; ` + "`action: resume`" + ` alone: it did not happen, run it |
| ` + "`interrupt`" + ` | ` + "`action: resume`" + ` | none: cancel the run instead | |

The first decision counts. What it is told, in this order: 404 for a run or a call that is not there; 400 or 422 for what cannot be read or does not fit;
202 ` + "`accepted`" + `; 200 ` + "`already_decided`" + ` with ` + "`same: true`" + ` for the same decision again, also when the run is done; 409 ` + "`already_decided`" + ` with the
` + "`winner`" + ` if another was first; 409 ` + "`late_decision`" + ` if the deadline decided; 409 ` + "`stale_suspension`, `run_done` or `not_suspended`" + `. Nothing
is stored with a refusal, but for the first late one, which is recorded; of a link, which is dead at the deadline, not even that.

**Limits.** A body 1 MiB; an id in a path 256 bytes; a key or a decision's id 255 bytes; metadata 2,048 and permissions of a run 1,024 bytes of compact
JSON; 100 decisions in one request; 32 messages that wait for a run or for its end, else 429 ` + "`inbox_full`" + `; 500 links to one run, else 409 ` + "`too_many_links`" + `; runs, messages, retries, interrupts and links as
often as the server was told (` + "`--starts-per-second`" + `), else 429 ` + "`rate_limited`" + `; pages end early once they weigh 1 MiB, and 8 MiB of large answers may be on
their way to one tenant, else 503 ` + "`unavailable`" + `. Each 429 and 503 has ` + "`Retry-After`" + ` in seconds.

In the examples answers are shown with line breaks.
`
