-- Each pull request that a train landed, and when: also where the train was stopped after it, or is still under way.
CREATE TABLE landings (
    tenant TEXT NOT NULL,
    run    TEXT NOT NULL,
    pr     BIGINT NOT NULL,
    at     BIGINT NOT NULL,
    PRIMARY KEY (tenant, run, pr)
) WITHOUT ROWID;
INSERT INTO landings (tenant, run, pr, at)
SELECT runs.tenant, runs.id, number.value, coalesce(
    (SELECT CAST(round(unixepoch(steps.data ->> '$.completedAt', 'subsec') * 1000) AS BIGINT) * 1000
        FROM steps WHERE steps.tenant = runs.tenant AND steps.run = runs.id AND steps.id = 'pr-' || number.value),
    runs.completed_at, runs.last_heartbeat_at)
FROM runs, json_each(runs.data, '$.result.landed') AS number
WHERE runs.kind = 'train' AND number.type = 'integer'
ON CONFLICT DO NOTHING;
CREATE INDEX landings_by_time ON landings (at, tenant);

-- What a run landed is counted there. Why a fixer ended: of those that completed, not all have pushed.
DROP INDEX runs_by_end;
ALTER TABLE runs DROP COLUMN landed;
ALTER TABLE runs ADD COLUMN outcome TEXT;
UPDATE runs SET outcome = data ->> '$.result.outcome' WHERE kind = 'fixer' AND completed_at IS NOT NULL;
CREATE INDEX runs_by_end ON runs (kind, completed_at, status, tenant, duration_ms, outcome, waited)
    WHERE completed_at IS NOT NULL;
