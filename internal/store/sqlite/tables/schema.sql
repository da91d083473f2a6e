-- The schema of a store, all of it. Columns hold what conditions and indexes touch; body holds the rest of a head as JSON. Texts are
-- never NULL.

CREATE TABLE heads (
	tenant TEXT NOT NULL, thread TEXT NOT NULL,
	run TEXT NOT NULL, agent TEXT NOT NULL, v INTEGER NOT NULL, st INTEGER NOT NULL,
	epoch INTEGER NOT NULL, rev INTEGER NOT NULL, cid INTEGER NOT NULL,
	seq INTEGER NOT NULL, seg INTEGER NOT NULL, ev INTEGER NOT NULL, sigs INTEGER NOT NULL,
	lease INTEGER NOT NULL, claim TEXT NOT NULL, tries INTEGER NOT NULL,
	dl INTEGER NOT NULL, not_before INTEGER NOT NULL, nsus INTEGER NOT NULL, has_end INTEGER NOT NULL,
	oldest TEXT NOT NULL, born INTEGER NOT NULL, due INTEGER NOT NULL,
	calls TEXT NOT NULL, timed TEXT NOT NULL, body TEXT NOT NULL,
	PRIMARY KEY (tenant, thread)
);
CREATE INDEX heads_due ON heads (due) WHERE due > 0;
CREATE INDEX heads_oldest ON heads (tenant, oldest, thread) WHERE oldest <> '';
CREATE INDEX heads_born ON heads (tenant, born, run);

CREATE TABLE inbox (
	tenant TEXT NOT NULL, thread TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
	PRIMARY KEY (tenant, thread, key)
) WITHOUT ROWID;

CREATE TABLE segments (
	tenant TEXT NOT NULL, thread TEXT NOT NULL, seq INTEGER NOT NULL,
	w INTEGER NOT NULL, prev INTEGER NOT NULL, body TEXT NOT NULL,
	feed INTEGER, marks TEXT, -- of segments that are in the feed of their tenant
	PRIMARY KEY (tenant, thread, seq)
);
CREATE UNIQUE INDEX segments_feed ON segments (tenant, feed) WHERE feed IS NOT NULL;

CREATE TABLE archive (
	tenant TEXT NOT NULL, run TEXT NOT NULL, thread TEXT NOT NULL, born INTEGER NOT NULL, body TEXT NOT NULL,
	PRIMARY KEY (tenant, run)
);
CREATE INDEX archive_born ON archive (tenant, born, run);
CREATE INDEX archive_thread ON archive (tenant, thread, born, run);

CREATE TABLE keys (
	tenant TEXT NOT NULL, key TEXT NOT NULL, run TEXT NOT NULL, digest TEXT NOT NULL, expires INTEGER NOT NULL,
	PRIMARY KEY (tenant, key)
) WITHOUT ROWID;

CREATE TABLE payloads (
	tenant TEXT NOT NULL, thread TEXT NOT NULL, digest TEXT NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (tenant, thread, digest)
);

CREATE TABLE definitions (
	tenant TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL, body TEXT NOT NULL,
	PRIMARY KEY (tenant, name, digest)
);
CREATE TABLE deployed (
	tenant TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL,
	PRIMARY KEY (tenant, name)
) WITHOUT ROWID;

CREATE TABLE queue (
	id INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, thread TEXT NOT NULL,
	visible_at INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
	receipt TEXT NOT NULL DEFAULT '', cause TEXT NOT NULL DEFAULT ''
);
CREATE INDEX queue_thread ON queue (tenant, thread);
CREATE INDEX queue_line ON queue (tenant, visible_at); -- each tenant's messages in an order of their own
CREATE INDEX queue_held ON queue (tenant, visible_at) WHERE receipt <> '';

CREATE TABLE dead (
	id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, thread TEXT NOT NULL,
	attempts INTEGER NOT NULL, cause TEXT NOT NULL, at INTEGER NOT NULL
);

-- The intake queue holds the only copy of what it holds. Bodies are blobs: they are kept as they came, whatever they are.
CREATE TABLE intake (
	id INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, body BLOB NOT NULL, at INTEGER NOT NULL,
	visible_at INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, returned INTEGER NOT NULL DEFAULT 0,
	receipt TEXT NOT NULL DEFAULT '', code TEXT NOT NULL DEFAULT '', detail TEXT NOT NULL DEFAULT ''
);
CREATE INDEX intake_visible ON intake (visible_at, id);
CREATE INDEX intake_line ON intake (tenant, visible_at);

CREATE TABLE intake_dead (
	id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, body BLOB NOT NULL, at INTEGER NOT NULL,
	died INTEGER NOT NULL, code TEXT NOT NULL, detail TEXT NOT NULL
);

CREATE TABLE links (
	tenant TEXT NOT NULL, run TEXT NOT NULL, id TEXT NOT NULL,
	body TEXT NOT NULL, revoked INTEGER NOT NULL, revoked_by TEXT NOT NULL, gone INTEGER NOT NULL,
	PRIMARY KEY (tenant, run, id)
) WITHOUT ROWID;
CREATE INDEX links_gone ON links (gone);

-- The one row names the store, and counts its write-ahead logs. The first transaction that is added to a log after it was copied whole, or
-- after the file was opened, counts it.
CREATE TABLE mark (one INTEGER PRIMARY KEY CHECK (one = 1), store TEXT NOT NULL, logs INTEGER NOT NULL);

-- What each tenant has stored, counted by triggers: every write is counted in its own transaction, whichever process makes it. A thread
-- counts 4 KiB for its head, its keys and its place in the indexes, and the text of its journal, of values beside it and of runs in the
-- archive counts in full.
CREATE TABLE usage (tenant TEXT NOT NULL PRIMARY KEY, bytes INTEGER NOT NULL, runs INTEGER NOT NULL) WITHOUT ROWID;
CREATE TRIGGER usage_head AFTER INSERT ON heads BEGIN
	INSERT INTO usage (tenant, bytes, runs) VALUES (new.tenant, 4096, new.st <> 3)
	ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes, runs = runs + excluded.runs;
END;
CREATE TRIGGER usage_status AFTER UPDATE OF st ON heads WHEN (new.st = 3) <> (old.st = 3) BEGIN
	UPDATE usage SET runs = runs + (old.st = 3) - (new.st = 3) WHERE tenant = new.tenant;
END;
CREATE TRIGGER usage_segment AFTER INSERT ON segments BEGIN
	INSERT INTO usage (tenant, bytes, runs) VALUES (new.tenant, octet_length(new.body), 0)
	ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER usage_segment_again AFTER UPDATE OF body ON segments BEGIN
	UPDATE usage SET bytes = bytes + octet_length(new.body) - octet_length(old.body) WHERE tenant = new.tenant;
END;
CREATE TRIGGER usage_payload AFTER INSERT ON payloads BEGIN
	INSERT INTO usage (tenant, bytes, runs) VALUES (new.tenant, octet_length(new.body), 0)
	ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER usage_archive AFTER INSERT ON archive BEGIN
	INSERT INTO usage (tenant, bytes, runs) VALUES (new.tenant, octet_length(new.body), 0)
	ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER usage_archive_again AFTER UPDATE OF body ON archive BEGIN
	UPDATE usage SET bytes = bytes + octet_length(new.body) - octet_length(old.body) WHERE tenant = new.tenant;
END;
