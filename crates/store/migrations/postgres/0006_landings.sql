-- Each pull request that a train landed, and when: also where the train was stopped after it, or is still under way.
CREATE TABLE landings (
    tenant TEXT COLLATE "C" NOT NULL,
    run    TEXT COLLATE "C" NOT NULL,
    pr     BIGINT NOT NULL,
    at     BIGINT NOT NULL,
    PRIMARY KEY (tenant, run, pr)
);
INSERT INTO landings (tenant, run, pr, at)
SELECT runs.tenant, runs.id, CAST(number.value AS BIGINT), coalesce(
    (SELECT CAST(extract(epoch FROM (steps.data::json ->> 'completedAt')::timestamptz) * 1000000 AS BIGINT)
        FROM steps WHERE steps.tenant = runs.tenant AND steps.run = runs.id AND steps.id = 'pr-' || number.value),
    runs.completed_at, runs.last_heartbeat_at)
FROM runs, json_array_elements_text(CASE WHEN json_typeof(runs.data::json #> '{result,landed}') = 'array'
    THEN runs.data::json #> '{result,landed}' ELSE '[]' END) AS number (value)
WHERE runs.kind = 'train'
ON CONFLICT DO NOTHING;
CREATE INDEX landings_by_time ON landings (at, tenant);

-- What a run landed is counted there. Why a fixer ended: of those that completed, not all have pushed.
DROP INDEX runs_by_end;
ALTER TABLE runs DROP COLUMN landed;
ALTER TABLE runs ADD COLUMN outcome TEXT COLLATE "C";
UPDATE runs SET outcome = data::json #>> '{result,outcome}' WHERE kind = 'fixer' AND completed_at IS NOT NULL;
CREATE INDEX runs_by_end ON runs (kind, completed_at, status, tenant, duration_ms, outcome, waited)
    WHERE completed_at IS NOT NULL;
