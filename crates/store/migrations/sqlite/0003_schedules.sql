-- Up to which slot a schedule is dealt with; or since when it is known, before the first.
CREATE TABLE schedules (
    tenant TEXT NOT NULL,
    name   TEXT NOT NULL,
    slot   BIGINT NOT NULL,
    PRIMARY KEY (tenant, name)
) WITHOUT ROWID;

-- The workflow, or the kind of work, that a run is of.
ALTER TABLE runs ADD COLUMN kind TEXT NOT NULL DEFAULT '';
UPDATE runs SET kind = coalesce(data ->> '$.type', '');
CREATE INDEX runs_by_kind ON runs (tenant, kind, created_at DESC, id DESC);
CREATE INDEX runs_by_id ON runs (id);
