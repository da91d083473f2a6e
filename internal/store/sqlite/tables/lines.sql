-- Delivery lines: what a thread owes an endpoint. Owners of runs add entries, the worker that holds the line's claim changes and removes
-- them, and a notice that was delivered or is dead has a record in their place.

CREATE TABLE delivery_lines (
	tenant TEXT NOT NULL, thread TEXT NOT NULL, endpoint TEXT NOT NULL,
	epoch INTEGER NOT NULL DEFAULT 0, lease INTEGER NOT NULL DEFAULT 0, claim TEXT NOT NULL DEFAULT '',
	last INTEGER NOT NULL, adds INTEGER NOT NULL, at INTEGER NOT NULL, due INTEGER NOT NULL,
	PRIMARY KEY (tenant, thread, endpoint)
);
CREATE INDEX delivery_lines_due ON delivery_lines (due) WHERE due > 0;

CREATE TABLE notices (
	tenant TEXT NOT NULL, thread TEXT NOT NULL, endpoint TEXT NOT NULL, event INTEGER NOT NULL, body TEXT NOT NULL,
	PRIMARY KEY (tenant, thread, endpoint, event)
) WITHOUT ROWID;

CREATE TABLE notice_records (
	tenant TEXT NOT NULL, thread TEXT NOT NULL, endpoint TEXT NOT NULL, event INTEGER NOT NULL,
	at INTEGER NOT NULL, dead INTEGER NOT NULL, body TEXT NOT NULL,
	PRIMARY KEY (tenant, thread, endpoint, event)
) WITHOUT ROWID;
CREATE INDEX notice_records_at ON notice_records (tenant, at, thread, endpoint, event);
CREATE INDEX notice_records_old ON notice_records (at) WHERE dead = 0;

ALTER TABLE queue ADD COLUMN endpoint TEXT NOT NULL DEFAULT ''; -- of a wake-up for a line
ALTER TABLE dead ADD COLUMN endpoint TEXT NOT NULL DEFAULT '';
