-- What sums over many runs are made of, apart from what each says of itself: when it ended and how long it took; of a train, how
-- many pull requests it landed, and for how many milliseconds it waited for whom.
ALTER TABLE runs ADD COLUMN completed_at BIGINT;
ALTER TABLE runs ADD COLUMN duration_ms BIGINT;
ALTER TABLE runs ADD COLUMN landed BIGINT;
ALTER TABLE runs ADD COLUMN waited TEXT;
UPDATE runs SET
    completed_at = CAST(round(unixepoch(data ->> '$.completedAt', 'subsec') * 1000) AS BIGINT) * 1000,
    duration_ms = data ->> '$.durationMs'
WHERE data ->> '$.completedAt' IS NOT NULL;
UPDATE runs SET
    landed = json_array_length(data, '$.result.landed'),
    waited = nullif(data -> '$.result.waited', '{}')
WHERE kind = 'train' AND completed_at IS NOT NULL;
CREATE INDEX runs_by_end ON runs (kind, completed_at, status, tenant, duration_ms, landed, waited)
    WHERE completed_at IS NOT NULL;

-- The runs of all tenants are asked for in as many ways as those of one.
CREATE INDEX runs_of_all_by_status ON runs (status, created_at DESC, id DESC);
CREATE INDEX runs_of_all_by_repo ON runs (repo, created_at DESC, id DESC);
CREATE INDEX runs_of_all_by_kind ON runs (kind, created_at DESC, id DESC);

CREATE INDEX workspaces_open ON workspaces (tenant, id) WHERE archived_at IS NULL;
