package access

import (
	"errors"
	"time"
)

// Ticket lets its holder read the events of one run, or of the feed of a tenant, as a stream at
// another address, until it expires. What it carries was found out about its holder when it was
// given.
type Ticket struct {
	Tenant      string
	Name        string // see [Principal]
	Fingerprint string
	Roles       []Role    // those that the stream needs, and no others that its holder may have
	Run         string    // or the thread whose runs they are; empty for the feed of the tenant
	Expires     time.Time // to the second

	// ID tells the ticket from all others, so that it opens one stream. Empty in tickets of
	// earlier versions.
	ID string
	// Query is that of the stream, encoded: who holds the ticket can't ask for another stream
	// than its owner did. With an ID alone.
	Query string
}

// ticketForm is not [linkForm]: a link opens no stream, and a ticket answers nothing. During a
// rollout, functions of the earlier version give tickets of the earlier form.
const (
	ticketForm        = "stream-ticket-2"
	earlierTicketForm = "stream-ticket-1"
)

// SignTicket is the ticket's text, fit for a path. The first key signs it.
func (k LinkKeys) SignTicket(t Ticket) string {
	if t.ID == "" {
		return k.sign(earlierTicketForm, t.Expires, t.Tenant, t.Name, t.Fingerprint, joinRoles(t.Roles), t.Run)
	}
	return k.sign(ticketForm, t.Expires, t.Tenant, t.Name, t.Fingerprint, joinRoles(t.Roles), t.Run, t.ID, t.Query)
}

// OpenTicket reads what [LinkKeys.SignTicket] wrote, by any of the keys. Its errors are those of
// [LinkKeys.Open].
func (k LinkKeys) OpenTicket(signed string, now time.Time) (Ticket, error) {
	fields, expires, err := k.open(ticketForm, signed, 7, now)
	if errors.Is(err, ErrBadLink) {
		fields, expires, err = k.open(earlierTicketForm, signed, 5, now)
		fields = append(fields, "", "")
	}
	if err != nil {
		return Ticket{}, err
	}
	return Ticket{Tenant: fields[0], Name: fields[1], Fingerprint: fields[2], Roles: ParseRoles(fields[3]), Run: fields[4],
		Expires: expires, ID: fields[5], Query: fields[6]}, nil
}

// Principal is who opened the stream, with the ticket's roles alone.
func (t Ticket) Principal() Principal {
	return Principal{Tenant: t.Tenant, Name: t.Name, Fingerprint: t.Fingerprint, Roles: t.Roles}
}
