package query

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
)

// feedCursor is a place in the feed of a tenant. Everything up to Low was read. Within the lag of a
// store, entries may appear before others that a reader has seen, so it reads what follows Low
// again: Seen are the entries there that were read. Held are entries up to Low that no head has
// named yet.
//
//	                Low
//	feed   ... x x x | x . x x       .: not committed yet, or not in the index yet
//	Seen               x   x x
type feedCursor struct {
	Low  engine.FeedPlace
	Seen []string
	Held []heldEntry
}

// heldEntry is an entry whose commit is not decided.
type heldEntry struct {
	At     int64      `json:"a"`
	Thread string     `json:"t"`
	Seq    int64      `json:"n"`
	W      core.Stamp `json:"w"`
}

// A cursor travels in a header, so its size is bounded. A reader of a feed with more than mostSeen
// commits within the lag follows it at the distance of the lag.
const (
	mostSeen = 64
	mostHeld = 8
)

// storedCursor is a feedCursor as callers have it.
type storedCursor struct {
	Feed string      `json:"f"` // the mark of the tenant: refuses the cursor of another one
	At   int64       `json:"a"`
	Tie  string      `json:"i,omitempty"`
	Seen string      `json:"s,omitempty"`
	Held []heldEntry `json:"h,omitempty"`
}

const seenLength = 8

// seenKey tells an entry from all others, in seenLength characters.
func seenKey(thread string, seq int64, w core.Stamp) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", thread, seq, w))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

func feedMark(tenant string) string { return journal.CursorMark("feed of " + tenant) }

// of is the cursor as callers have it, opaque, for this tenant alone.
func (c feedCursor) of(tenant string) string {
	stored := storedCursor{Feed: feedMark(tenant), At: c.Low.At, Tie: c.Low.Tie, Held: c.Held}
	for _, key := range c.Seen {
		stored.Seen += key
	}
	return journal.EncodeCursor(stored)
}

// readFeedCursor reads a cursor of the tenant's feed. Empty is the beginning.
func readFeedCursor(text, tenant string) (c feedCursor, err error) {
	if text == "" {
		return c, nil
	}
	var stored storedCursor
	if !journal.DecodeCursor(text, &stored) || stored.Feed != feedMark(tenant) ||
		len(stored.Seen)%seenLength != 0 || len(stored.Seen) > mostSeen*seenLength || len(stored.Held) > mostHeld {
		return c, journal.BadCursor()
	}
	c.Low, c.Held = engine.FeedPlace{At: stored.At, Tie: stored.Tie}, stored.Held
	for _, h := range c.Held {
		if h.Seq < 1 || h.Thread == "" || len(h.Thread) > journal.MaxID {
			return feedCursor{}, journal.BadCursor()
		}
	}
	for at := 0; at < len(stored.Seen); at += seenLength {
		c.Seen = append(c.Seen, stored.Seen[at:at+seenLength])
	}
	if c.Low.Check() != nil {
		return feedCursor{}, journal.BadCursor()
	}
	return c, nil
}

// clone is a copy whose lists are its own.
func (c feedCursor) clone() feedCursor {
	return feedCursor{c.Low, slices.Clone(c.Seen), slices.Clone(c.Held)}
}

// pass moves Low on to an entry that was read, or is held.
func (c *feedCursor) pass(e engine.FeedEntry) {
	c.Low = e.FeedPlace
	c.unsee(seenKey(e.Thread, e.Seq, e.W))
}

func (c *feedCursor) unsee(key string) {
	c.Seen = slices.DeleteFunc(c.Seen, func(seen string) bool { return seen == key })
}

func (c *feedCursor) saw(e engine.FeedEntry) bool {
	return len(c.Seen) > 0 && slices.Contains(c.Seen, seenKey(e.Thread, e.Seq, e.W))
}

func (c *feedCursor) see(e engine.FeedEntry) { c.Seen = append(c.Seen, seenKey(e.Thread, e.Seq, e.W)) }

// hold keeps an entry to look at again, and drops the oldest of too many.
func (c *feedCursor) hold(e engine.FeedEntry) {
	if len(c.Held) == mostHeld {
		c.Held = slices.Delete(c.Held, 0, 1)
	}
	c.Held = append(c.Held, heldEntry{e.At, e.Thread, e.Seq, e.W})
}
