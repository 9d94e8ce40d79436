-- What is done with many runs at once. The job of each in the queue says which gateway is at it (docs/decisions/0093).
CREATE TABLE holdfast.bulk_jobs (
  id           text COLLATE "C" PRIMARY KEY,
  environment  text COLLATE "C" NOT NULL,
  action       text COLLATE "C" NOT NULL,
  -- JSON.
  filter       text NOT NULL,
  app_version  text NOT NULL,
  status       text COLLATE "C" NOT NULL CHECK (status IN ('RUNNING', 'DONE', 'STOPPED')),
  total        integer,
  before_id    text COLLATE "C" NOT NULL,
  done         integer NOT NULL DEFAULT 0,
  skipped      integer NOT NULL DEFAULT 0,
  failed       integer NOT NULL DEFAULT 0,
  -- JSON.
  errors       text NOT NULL DEFAULT '[]',
  created_at   timestamptz NOT NULL,
  updated_at   timestamptz NOT NULL,
  ended_at     timestamptz
);
CREATE INDEX bulk_jobs_by_environment ON holdfast.bulk_jobs (environment, id);
