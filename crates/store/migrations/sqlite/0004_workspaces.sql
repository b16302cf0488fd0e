-- When a workspace was archived; none as long as its pull request is open.
ALTER TABLE workspaces ADD COLUMN archived_at BIGINT;
CREATE INDEX workspaces_by_end ON workspaces (archived_at) WHERE archived_at IS NOT NULL;

-- What is over is found by its age.
CREATE INDEX sessions_by_age ON sessions (started_at);
