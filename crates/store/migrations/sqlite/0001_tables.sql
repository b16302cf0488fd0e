-- Times are microseconds since 1970, JSON is text: what was written is read back to the byte.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE streams (
    stream            TEXT PRIMARY KEY,
    tenant            TEXT NOT NULL,
    generation        BIGINT NOT NULL DEFAULT 0,
    -- Generations before this one are on their way out.
    oldest_generation BIGINT NOT NULL DEFAULT 0,
    next_seq          BIGINT NOT NULL DEFAULT 1,
    epoch             BIGINT NOT NULL DEFAULT 0,
    owner             TEXT,
    lease_expires_at  BIGINT,
    -- When it wants to be looked at although nothing came in.
    wake_at           BIGINT
) WITHOUT ROWID;

CREATE INDEX streams_by_wake ON streams (wake_at) WHERE wake_at IS NOT NULL;

CREATE TABLE events (
    stream TEXT NOT NULL,
    seq    BIGINT NOT NULL,
    ts     BIGINT NOT NULL,
    type   TEXT NOT NULL,
    data   TEXT NOT NULL,
    PRIMARY KEY (stream, seq)
) WITHOUT ROWID;

CREATE TABLE snapshots (
    stream     TEXT NOT NULL,
    generation BIGINT NOT NULL,
    next_seq   BIGINT NOT NULL,
    taken_at   BIGINT NOT NULL,
    data       TEXT NOT NULL,
    PRIMARY KEY (stream, generation)
);

CREATE TABLE inbox (
    -- The order of arrival.
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant          TEXT NOT NULL,
    key             TEXT NOT NULL,
    source          TEXT NOT NULL,
    -- Whose owner is to work on it; null where its caller does.
    stream          TEXT,
    priority        BIGINT NOT NULL,
    label           TEXT NOT NULL,
    -- Of the body, in bytes; 0 once it is gone.
    size            BIGINT NOT NULL,
    status          TEXT NOT NULL,
    request_hash    TEXT NOT NULL,
    response        TEXT,
    error           TEXT,
    run_id          TEXT,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    expires_at      BIGINT NOT NULL,
    fence           BIGINT NOT NULL,
    lock_expires_at BIGINT,
    attempts        BIGINT NOT NULL,
    UNIQUE (tenant, key)
);

-- Apart from the inbox: settling an entry must not rewrite its body.
CREATE TABLE bodies (
    entry INTEGER PRIMARY KEY REFERENCES inbox (id) ON DELETE CASCADE,
    body  BLOB NOT NULL
);

CREATE INDEX inbox_pending ON inbox (stream, priority DESC, id) WHERE status = 'processing' AND stream IS NOT NULL;
-- What is not settled does not expire.
CREATE INDEX inbox_expiry ON inbox (status, expires_at) WHERE status <> 'processing';
CREATE INDEX inbox_old_bodies ON inbox (updated_at) WHERE status <> 'processing' AND size > 0;

CREATE TABLE runs (
    tenant            TEXT NOT NULL,
    id                TEXT NOT NULL,
    repo              TEXT NOT NULL,
    status            TEXT NOT NULL,
    created_at        BIGINT NOT NULL,
    -- When it was made, as long as it has not shown a sign of life.
    last_heartbeat_at BIGINT NOT NULL,
    data              TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX runs_by_creation ON runs (created_at DESC, id DESC);
CREATE INDEX runs_by_tenant ON runs (tenant, created_at DESC, id DESC);
CREATE INDEX runs_by_status ON runs (tenant, status, created_at DESC, id DESC);
CREATE INDEX runs_by_repo ON runs (tenant, repo, created_at DESC, id DESC);
CREATE INDEX runs_by_heartbeat ON runs (status, last_heartbeat_at);

CREATE TABLE steps (
    tenant   TEXT NOT NULL,
    run      TEXT NOT NULL,
    id       TEXT NOT NULL,
    position BIGINT NOT NULL,
    data     TEXT NOT NULL,
    PRIMARY KEY (tenant, run, id)
);

CREATE TABLE checkpoints (
    tenant TEXT NOT NULL,
    run    TEXT NOT NULL,
    id     TEXT NOT NULL,
    at     BIGINT NOT NULL,
    data   TEXT NOT NULL,
    PRIMARY KEY (tenant, run, id)
);

CREATE TABLE workspaces (
    tenant TEXT NOT NULL,
    id     TEXT NOT NULL,
    repo   TEXT NOT NULL,
    data   TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
);

CREATE TABLE sessions (
    tenant     TEXT NOT NULL,
    id         TEXT NOT NULL,
    workspace  TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    data       TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX sessions_by_workspace ON sessions (tenant, workspace, started_at DESC, id DESC);

CREATE TABLE transitions (
    tenant     TEXT NOT NULL,
    id         TEXT NOT NULL,
    workspace  TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    data       TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX transitions_by_workspace ON transitions (tenant, workspace, created_at DESC, id DESC);
CREATE INDEX transitions_by_age ON transitions (created_at);
