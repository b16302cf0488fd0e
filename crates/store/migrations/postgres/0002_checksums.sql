-- What a row says, in one number, made when it was written. Null where a merge-train wrote it that made none.
ALTER TABLE streams ADD COLUMN checksum BIGINT;
ALTER TABLE events ADD COLUMN checksum BIGINT;
ALTER TABLE snapshots ADD COLUMN checksum BIGINT;
-- Of the body, and of all in the inbox that its sender said.
ALTER TABLE bodies ADD COLUMN checksum BIGINT;
