-- Sessions of the console that were ended before they expired.

CREATE TABLE ended_sessions (id TEXT NOT NULL PRIMARY KEY, gone INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX ended_sessions_gone ON ended_sessions (gone);
