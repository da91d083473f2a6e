package httpapi

// conventions is the beginning of docs/reference/api.md.
const conventions = `# HTTP API

All operations of version 1, generated from the routes, with their roles and status codes. The OpenAPI 3.1 document
also describes all members, error codes and access on AWS, and has examples. Get it with ` + "`GET /openapi.json`" + `, or read
[the file](../../internal/api/httpapi/openapi.json).

## Conventions

| topic | rule |
|---|---|
| Body | One JSON object in UTF-8, at most 1 MiB, as ` + "`application/json`" + `. Unknown or repeated members and unknown parameters are refused. An optional member may be ` + "`null`" + `; an optional parameter may be empty. |
| Responses | New members may be added; ignore unknown members. |
| Ids | Opaque, with a prefix: ` + "`run_`" + `, ` + "`thr_`" + `, ` + "`sus_`" + ` (suspension), ` + "`lnk_`" + ` (link). Another tenant's ids return 404. |
| Times | RFC 3339, UTC, milliseconds: ` + "`2026-03-01T12:00:00.000Z`" + ` |
| Errors | ` + "`application/problem+json`" + ` with a stable ` + "`code`" + `; see [all codes](errors.md). 429 has ` + "`Retry-After`" + `. |
| Tokens | ` + "`Authorization: Bearer TOKEN`" + `. A token belongs to one tenant. Without ` + "`--tokens`" + ` the server listens only on loopback and accepts every caller. |
| Roles | Each operation requires one of the roles in its row. ` + "`admin`" + ` includes all others. See [who may do what](../how-it-works/concepts.md#who-may-do-what). |
| Idempotency | Requests with the same ` + "`Idempotency-Key`" + ` (at most 255 bytes) and body take effect once. The first returns 202; a repeat returns 200. The same key with another body returns 422. Keys sent to an existing thread expire after 30 days. |
| Pages | A page has ` + "`items`" + `, and ` + "`next`" + ` if more items follow. Pass ` + "`next`" + ` as ` + "`cursor`" + ` with the same filters. A page may be empty although ` + "`next`" + ` is set. |
| Waiting | To wait up to 20 seconds, send the header ` + "`Prefer: wait=N`" + ` for a run, or the parameter ` + "`wait=N`" + ` for a page of events. To wait longer, open a stream. |
| Streams | Server-sent events. If you reconnect with ` + "`Last-Event-ID`" + `, you receive each later event once, except that ` + "`GET /v1/events`" + ` may repeat events. A stream ends after at most 15 minutes. A 307 redirects to the stream's address. |
| Live text | Each event names its part of the text. On ` + "`text.delta`" + `, append to the part. On ` + "`text.ended`" + `, replace the part. On ` + "`step.reset`" + `, clear unfinished parts. On AWS, only streams have live text. |
| Decisions | The first decision counts and returns 202. A repeat returns 200 with ` + "`same: true`" + `; a different decision returns 409 with the first one as ` + "`winner`" + `. |
| Inputs | Text, or a list of parts: ` + "`text`, `image`, `document`" + `. Bytes are sent in base64. |
| Limits | Id in a path: 256 bytes; metadata: 2,048 bytes; permissions: 1,024 bytes; 100 decisions in a request; 32 queued messages; 500 links per run; a page ends at 1 MiB. |

The tables leave out the role ` + "`admin`" + ` and these status codes:

- all operations: 400, 403 ` + "`forbidden`" + `, 500, 503
- operations with a role: 401, 403 ` + "`role_required`" + ` and ` + "`not_admitted`" + `
- operations with a body: 413, 415
- operations with an id in the path: 404
- operations that store something: 507 ` + "`disk_full`" + `
`

// description is the description of the OpenAPI document: what holds for all operations.
const description = `Dormouse runs AI agents as short serverless steps. Use this API to start runs, read and stream their events, and answer the calls that wait for a person or a program.

This description holds for all operations.

## Requests and responses

A body is one JSON object in UTF-8 of at most 1 MiB, sent as ` + "`application/json`" + `. Unknown members and unknown query parameters are refused with ` + "`unknown_field`" + `; a repeated member and nesting of more than 256 levels are refused as well. An optional member may be ` + "`null`" + `, and an optional parameter may be empty. Responses may gain members: ignore those you don't know.

Ids are opaque strings. Only their prefixes have a meaning: ` + "`run_`" + `, ` + "`thr_`" + `, ` + "`sus_`" + ` (a suspension: one wait of a call), ` + "`lnk_`" + ` (an approval link). Ids of another tenant are not found.

Times are RFC 3339 in UTC with milliseconds: ` + "`2026-03-01T12:00:00.000Z`" + `.

## Errors

Every error is an ` + "`application/problem+json`" + ` document (RFC 9457) with a stable ` + "`code`" + ` and a ` + "`detail`" + ` that contains nothing confidential. Unless the description of a code says otherwise, a refused request has stored nothing.

- 503 ` + "`unavailable`" + ` has ` + "`Retry-After`" + `: the request may or may not have been stored; send the same one again.
- 503 ` + "`storage_failing`" + `, ` + "`storage_damaged`" + `, ` + "`storage_gone`" + `, ` + "`storage_denied`" + ` and ` + "`unreadable`" + ` have no ` + "`Retry-After`" + `: the operator must act first. After ` + "`storage_failing`" + `, and after ` + "`storage_gone`" + ` at the moment the store was moved, the request may have been stored.
- 507 ` + "`disk_full`" + ` has ` + "`Retry-After`" + `: nothing was stored; reads still work.
- 500 ` + "`internal`" + ` is a bug in the server.
- Every 429 has ` + "`Retry-After`" + ` in seconds.
- 405 has ` + "`Allow`" + `, 401 has ` + "`WWW-Authenticate`" + `. An id made of dots is 404 ` + "`not_found`" + `.

## Tokens and tenants

A server with tokens requires ` + "`Authorization: Bearer TOKEN`" + `. A token belongs to one tenant and has roles:

- ` + "`start`" + `: start runs, send messages (a message resumes an interrupted run), interrupt, cancel, retry.
- ` + "`read`" + `: read everything of the tenant.
- ` + "`decide`" + `: read suspended calls, answer them, interrupt, resume, cancel.
- ` + "`link`" + `: read suspended calls; create, list and revoke approval links. A link delegates the right to decide, so this role is as powerful as ` + "`decide`" + `. Only ` + "`admin`" + ` includes it.
- ` + "`admin`" + `: everything.

A server without tokens listens on a loopback address, answers only to loopback host names and accepts every caller. Web pages of other sites may call the API only if the server was started with their origin (` + "`--cors-origin`" + `).

On AWS the gateway's authorizer admits callers, with a JWT or an IAM signature, and the API trusts it. The stack's parameters name the claims that hold the tenant and the roles of a JWT. A caller that signs with IAM has the roles that the parameter IAMRoles assigns to its ARN, otherwise only ` + "`read`" + `. If the claims lack a tenant or a role, the caller gets 403 ` + "`not_admitted`" + `. A link that such a caller created works until it expires or is revoked, even if the caller is no longer admitted. To disable all links at once, remove the key that signs them.

## Idempotency keys

Operations that start something accept an ` + "`Idempotency-Key`" + ` header of at most 255 bytes. Requests with the same key and body have the effect of one: the first returns 202, each repeat 200 with the same run. The same key with another body is refused with ` + "`idempotency_mismatch`" + `. A key belongs to one tenant and one kind of request: starting a conversation, starting a run in a conversation, sending a message, or retrying. The keys of a conversation are kept for 30 days. Without a key, a request that got no response may have been stored.

## Pages

Lists return ` + "`items`" + ` and, if there are more, ` + "`next`" + `: the ` + "`cursor`" + ` of the next page. A page may be short or empty although ` + "`next`" + ` is set. A ` + "`limit`" + ` above the maximum counts as the maximum, and 0 as the default. Cursors are opaque; send one to the list that returned it, with the same filters.

## Waiting

There are three ways to wait: ` + "`Prefer: wait=N`" + ` on a run delays the response until the run is suspended or done; ` + "`wait=N`" + ` on a page of events delays it until there is an event; a stream sends events as they occur. N is at most 20 seconds. The response may come earlier, without anything new.

While its model doesn't answer, a run keeps the status ` + "`running`" + ` and has ` + "`waiting_on: model`" + ` with ` + "`code`" + ` and ` + "`detail`" + ` (the reason), ` + "`waiting_since`" + ` and ` + "`next_attempt_at`" + `. Each failed attempt is a ` + "`step.reset`" + ` event with ` + "`try`" + ` and ` + "`try_at`" + `. The run continues on its own. It ends in ` + "`error`" + ` with the code ` + "`model_unavailable`" + ` when the outage exceeds the agent's limit (` + "`model.outage`" + `, 24 hours by default).

## Streams

Streams are server-sent events: ` + "`id`" + ` is the cursor, ` + "`event`" + ` the type, ` + "`data`" + ` the event as JSON; comments keep an idle stream open. A reader that reconnects with the cursor of its last event, as ` + "`Last-Event-ID`" + ` or ` + "`after`" + `, misses nothing and sees nothing twice; only ` + "`GET /v1/events`" + ` may repeat an event. A stream may end after any event, and ends after 15 minutes at the latest: open it again. The number of open streams is limited (429 ` + "`too_many_streams`" + `). If streams have a separate address, the response is 307 with a ticket that is valid for one minute; clients that follow redirects need do nothing. If such a stream breaks, request the original address again.

After the committed events a stream sends live text: ` + "`text.delta`" + ` and ` + "`reasoning.delta`" + `, with the ` + "`part_id`" + ` of the part, the ` + "`attempt`" + ` that produces it, the ` + "`offset`" + ` of the piece in bytes of UTF-8, and its ` + "`text`" + `. Their ` + "`seq`" + ` is that of the last committed event. A reader that connects late gets the text so far as one piece; a reader that reconnects with the ` + "`id`" + ` of a delta gets what follows it. To show live text, keep the text of each part: append each delta; replace the text with that of ` + "`text.ended`" + ` or ` + "`reasoning.ended`" + `, which are committed; and clear every unfinished part on ` + "`step.reset`" + `, because that attempt is void. The text shown then never mixes two attempts and ends up as the journal has it. Deltas are not stored: JSON pages contain them only while they wait (` + "`wait`" + `), and no reader can rely on them. There are none on AWS, where the function that calls the model and the one that serves the reader share only committed data; behind a gateway that buffers; for text that another process on the same data directory receives; and beyond the first 256 KiB of a turn. In these cases the whole text arrives with its commit.

## Inputs and messages

An ` + "`input`" + ` is text, or a list of parts: ` + "`text`" + `, ` + "`image`" + ` (PNG, JPEG, GIF, WebP) and ` + "`document`" + ` (PDF, text, CSV, HTML, Markdown, Word, Excel). Images and documents carry their bytes in base64: ` + "`{\"type\":\"image\",\"media_type\":\"image/png\",\"data\":\"iVBO...\"}`" + `; a document may have a ` + "`name`" + `. The limit on bodies leaves about 740 KB for them. The server doesn't inspect files: a model that can't read one reports it. A message is returned with its ` + "`text`" + ` and, if it has more than text, with all its ` + "`parts`" + `; their bytes are included with ` + "`data=true`" + `. Reasoning is a part as well; content that its provider encrypts is never returned.

## Decisions

Answer a suspended call with a decision on its suspension. The ` + "`kind`" + ` of the call determines the members:

| kind | yes | no | other |
|---|---|---|---|
| ` + "`approval`" + ` | ` + "`action: resume`" + `, optionally with edited ` + "`arguments`" + ` and a ` + "`grant`" + ` | ` + "`action: cancel`" + `, or an ` + "`error`" + ` | without an action: a ` + "`result`" + ` of true or false, or a word such as "yes" |
| ` + "`client`" + `, ` + "`input`" + ` | ` + "`result`" + `, which must match the response schema | ` + "`action: cancel`" + ` | ` + "`error`" + `: the call failed, and the model sees it |
| ` + "`unknown_outcome`" + ` | ` + "`result`" + `: the call took effect with this result | ` + "`action: cancel`" + `: don't run it | ` + "`error`" + `: the call failed; ` + "`action: resume`" + ` alone: it had no effect, run it |
| ` + "`interrupt`" + ` | ` + "`action: resume`" + ` | none: cancel the run instead | |

The first decision counts. The response is determined in this order: 404 if the run or the call doesn't exist; 400 or 422 if the decision can't be read or doesn't fit; 202 ` + "`accepted`" + `; 200 ` + "`already_decided`" + ` with ` + "`same: true`" + ` for a repeat, even after the run is done; 409 ` + "`already_decided`" + ` with the ` + "`winner`" + ` if a different decision was first; 409 ` + "`late_decision`" + ` if the deadline settled the call; 409 ` + "`stale_suspension`" + `, ` + "`run_done`" + ` or ` + "`not_suspended`" + `. A refused decision is not stored, except the first late one, which is recorded. A link stops working at the deadline, so its late answers aren't recorded.

## Limits

| what | limit |
|---|---|
| body | 1 MiB |
| id in a path | 256 bytes |
| idempotency key, decision id | 255 bytes |
| metadata, permissions of a run | 2,048 and 1,024 bytes of compact JSON |
| decisions in one request | 100 |
| messages queued for a run or its end | 32, then 429 ` + "`inbox_full`" + ` |
| links of one run | 500, then 409 ` + "`too_many_links`" + ` |
| runs, messages, retries, interrupts and links per second | ` + "`--starts-per-second`" + `, then 429 ` + "`rate_limited`" + ` |
| page | ends early at 1 MiB |
| large responses in progress for one tenant | 8 MiB, then 503 ` + "`unavailable`" + ` |
`
