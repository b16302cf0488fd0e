-- Up to which slot a schedule is dealt with; or since when it is known, before the first.
CREATE TABLE schedules (
    tenant TEXT COLLATE "C" NOT NULL,
    name   TEXT COLLATE "C" NOT NULL,
    slot   BIGINT NOT NULL,
    PRIMARY KEY (tenant, name)
);

-- The workflow, or the kind of work, that a run is of.
ALTER TABLE runs ADD COLUMN kind TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE runs SET kind = coalesce(data::json ->> 'type', '');
CREATE INDEX runs_by_kind ON runs (tenant, kind, created_at DESC, id DESC);
CREATE INDEX runs_by_id ON runs (id);
