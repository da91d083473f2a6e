package sqlite

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// PutDefinition stores a version of an agent. It never replaces a version.
func (db *DB) PutDefinition(ctx context.Context, d engine.Definition) error {
	const query = "INSERT INTO definitions (tenant, name, digest, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
	return exec(ctx, db, func(t *tx) error {
		_, err := t.Exec(query, d.Tenant, d.Name, d.Digest, string(d.Body))
		return err
	})
}

// Deploy makes a stored version the one that new runs start with. It returns [engine.ErrNotFound]
// if the version is not stored.
func (db *DB) Deploy(ctx context.Context, tenant, name, digest string) error {
	const query = `INSERT INTO deployed (tenant, name, digest)
		SELECT tenant, name, digest FROM definitions WHERE tenant = ? AND name = ? AND digest = ?
		ON CONFLICT (tenant, name) DO UPDATE SET digest = excluded.digest`
	return exec(ctx, db, func(t *tx) error {
		n, err := t.Exec(query, tenant, name, digest)
		if err == nil && n == 0 {
			err = engine.ErrNotFound
		}
		return err
	})
}

// Undeploy prevents new runs of the agent. Its versions stay for the runs that are pinned to them.
func (db *DB) Undeploy(ctx context.Context, tenant, name string) error {
	return exec(ctx, db, func(t *tx) error {
		_, err := t.Exec("DELETE FROM deployed WHERE tenant = ? AND name = ?", tenant, name)
		return err
	})
}

// Definition returns a stored version, or [engine.ErrNotFound].
func (db *DB) Definition(ctx context.Context, tenant, name, digest string) (d engine.Definition, err error) {
	const query = "SELECT tenant, name, digest, body FROM definitions WHERE tenant = ? AND name = ? AND digest = ?"
	err = db.readOne(ctx, func(s dbfile.Scanner) error { return scanDefinition(s, &d) }, query, tenant, name, digest)
	return d, err
}

const deployedDefinitions = `SELECT d.tenant, d.name, d.digest, d.body FROM deployed c
	JOIN definitions d ON d.tenant = c.tenant AND d.name = c.name AND d.digest = c.digest WHERE c.tenant = ?`

// Newest returns the digest of the deployed version, or [engine.ErrNotFound] if none is deployed.
func (db *DB) Newest(ctx context.Context, tenant, name string) (digest string, err error) {
	const query = "SELECT digest FROM deployed WHERE tenant = ? AND name = ?"
	err = db.readOne(ctx, func(s dbfile.Scanner) error {
		if err := s.Scan(&digest); err != nil {
			return dbfile.Unavailable(err)
		}
		return nil
	}, query, tenant, name)
	return digest, err
}

// Current implements frontend.Catalog.
func (db *DB) Current(ctx context.Context, tenant, name string) (d engine.Definition, err error) {
	err = db.readOne(ctx, func(s dbfile.Scanner) error { return scanDefinition(s, &d) }, deployedDefinitions+" AND c.name = ?", tenant, name)
	return d, err
}

// Deployed implements frontend.Catalog.
func (db *DB) Deployed(ctx context.Context, tenant string) (all []engine.Definition, err error) {
	err = db.read(ctx, func(s dbfile.Scanner) error {
		var d engine.Definition
		if err := scanDefinition(s, &d); err != nil {
			return err
		}
		all = append(all, d)
		return nil
	}, deployedDefinitions+" ORDER BY c.name", tenant)
	return all, err
}

// Tenants returns the tenants that have a deployed agent, by name.
func (db *DB) Tenants(ctx context.Context) (tenants []string, err error) {
	err = db.read(ctx, func(s dbfile.Scanner) error {
		var tenant string
		if err := s.Scan(&tenant); err != nil {
			return dbfile.Unavailable(err)
		}
		tenants = append(tenants, tenant)
		return nil
	}, "SELECT tenant FROM deployed GROUP BY tenant ORDER BY tenant")
	return tenants, err
}

func scanDefinition(s dbfile.Scanner, d *engine.Definition) error {
	var body []byte
	if err := s.Scan(&d.Tenant, &d.Name, &d.Digest, &body); err != nil {
		return dbfile.Unavailable(err)
	}
	d.Body = body
	return nil
}
