// Package tables has the schema of the store, and translates between rows and what they store.
package tables

import _ "embed"

//go:embed schema.sql
var schema string

//go:embed lines.sql
var lines string

//go:embed webhooks.sql
var webhooks string

//go:embed votes.sql
var votes string

//go:embed posted.sql
var posted string

//go:embed linkcodes.sql
var linkCodes string

//go:embed pushes.sql
var pushes string

//go:embed packed.sql
var packed string

//go:embed urgent.sql
var urgent string

//go:embed sessions.sql
var sessions string

//go:embed slim.sql
var slim string

// Migrations make the tables. They are applied in order and never change once released.
var Migrations = []string{schema, lines, webhooks, votes, posted, linkCodes, pushes, packed, urgent, sessions, slim}
