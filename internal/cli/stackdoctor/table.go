package stackdoctor

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
)

// Tables reads the settings of tables.
type Tables interface {
	Table(ctx context.Context, name string) (Table, error)
	// Expiry is the attribute by which DynamoDB deletes items; empty if it deletes none.
	Expiry(ctx context.Context, name string) (attribute string, err error)
	// Backups says whether point-in-time recovery is on.
	Backups(ctx context.Context, name string) (bool, error)
}

// Table has the settings of a table.
type Table struct {
	Status    string
	OnDemand  bool
	Protected bool   // from deletion
	Ceiling   string // the maximum throughput that is configured; empty for none
	Keys      string // the key attributes, joined by commas
	Indexes   map[string]Index
}

// Index is a secondary index.
type Index struct {
	Keys   string
	Status string // ACTIVE if it can be used
}

// Schema is the table that a stack needs.
type Schema struct {
	TTL     string // the attribute
	Keys    string
	Indexes map[string]string // their keys
}

// Runs reads stored runs.
type Runs interface {
	// Newer counts the newest runs that it read, and those of them that only a newer program
	// can read.
	Newer(ctx context.Context) (read, newer int, err error)
}

func checkTable(ctx context.Context, from Tables, runs Runs, name string, want Schema) []Finding {
	r := results{check: "table"}
	t, err := from.Table(ctx, name)
	switch {
	case errors.Is(err, ErrMissing):
		r.fail("restore the table from a backup and deploy with ExistingTable", "the table %s does not exist", name)
		return r.found
	case err != nil:
		r.unread("settings of "+name, err)
	default:
		r.settings(t, name)
		r.schema(t, name, want)
	}
	switch ttl, err := from.Expiry(ctx, name); {
	case err != nil:
		r.unread("expiry of items", err)
	case ttl == "":
		r.fail("turn on TTL with the attribute "+want.TTL, "items don't expire: TTL is off")
	case ttl != want.TTL:
		r.fail("turn TTL off, and then on with the attribute "+want.TTL, "TTL uses the attribute %s instead of %s, so items don't expire", ttl, want.TTL)
	default:
		r.ok("items expire by the attribute %s", ttl)
	}
	switch on, err := from.Backups(ctx, name); {
	case err != nil:
		r.unread("point-in-time recovery", err)
	case on:
		r.ok("point-in-time recovery is on")
	default:
		r.fail("turn on point-in-time recovery; without it, a deleted or damaged table can't be restored", "point-in-time recovery is off")
	}
	switch read, newer, err := runs.Newer(ctx); {
	case err != nil:
		r.unread("schema of runs", err)
	case newer > 0:
		r.fail("deploy the newer version again; until then, these runs wait", "%d of the newest %d runs were written by a newer version than this program", newer, read)
	default:
		r.ok("this program reads the schema of the newest runs (%d)", read)
	}
	return r.found
}

func (r *results) settings(t Table, name string) {
	if t.Status != "ACTIVE" {
		r.warn("run the command again in a minute", "%s is %s", name, t.Status)
	}
	if t.Protected {
		r.ok("%s is protected from deletion", name)
	} else {
		r.warn("deploy with DeletionProtection=true; if the stack did not make the table, turn the protection on in DynamoDB", "%s is not protected from deletion", name)
	}
	switch {
	case !t.OnDemand:
		r.warn("switch the table to on-demand capacity", "%s has provisioned capacity, so a burst of runs may be throttled", name)
	case t.Ceiling != "":
		r.warn("check that the maximum is above your peak", "%s is on demand with a configured maximum of %s; above it, requests are throttled", name, t.Ceiling)
	default:
		r.ok("%s is on demand, without a configured maximum", name)
	}
}

func (r *results) schema(t Table, name string, want Schema) {
	var wrong []string
	if t.Keys != want.Keys {
		wrong = append(wrong, "its keys are "+t.Keys+" instead of "+want.Keys)
	}
	for _, index := range slices.Sorted(maps.Keys(want.Indexes)) {
		has, there := t.Indexes[index]
		switch {
		case !there:
			wrong = append(wrong, "the index "+index+" is missing")
		case has.Keys != want.Indexes[index]:
			wrong = append(wrong, "the index "+index+" has the keys "+has.Keys+" instead of "+want.Indexes[index])
		case has.Status != "ACTIVE":
			wrong = append(wrong, "the index "+index+" is "+has.Status)
		}
	}
	if len(wrong) > 0 {
		r.fail("wait until an index is ACTIVE; otherwise restore the table from a backup and deploy with ExistingTable", "%s: %s", name, strings.Join(wrong, "; "))
		return
	}
	r.ok("%s has the keys and indexes of this version", name)
}
