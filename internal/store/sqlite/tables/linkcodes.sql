-- What is known of the one-time codes of a link. It holds no code.

ALTER TABLE links ADD COLUMN code TEXT NOT NULL DEFAULT '';
