-- The webhooks of tenants, and which endpoints are disabled, wherever their targets come from.

CREATE TABLE webhooks (
	tenant TEXT NOT NULL, id TEXT NOT NULL, rev INTEGER NOT NULL, body TEXT NOT NULL,
	PRIMARY KEY (tenant, id)
) WITHOUT ROWID;

CREATE TABLE disabled_endpoints (
	tenant TEXT NOT NULL, endpoint TEXT NOT NULL, gone INTEGER NOT NULL, body TEXT NOT NULL,
	PRIMARY KEY (tenant, endpoint)
) WITHOUT ROWID;
CREATE INDEX disabled_endpoints_gone ON disabled_endpoints (gone) WHERE gone > 0;
