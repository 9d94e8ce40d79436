-- Text ids are compared byte by byte (COLLATE "C"). JSON is kept as text: verbatim, and with every character JSON allows.

-- The head of each run. Changes only together with a row of run_log.
CREATE TABLE holdfast.runs (
  id           text COLLATE "C" PRIMARY KEY,
  function_id  text COLLATE "C" NOT NULL,
  app_id       text COLLATE "C" NOT NULL,
  app_version  text NOT NULL,
  status       text NOT NULL CHECK (status IN ('PENDING', 'RUNNING', 'WAITING', 'COMPLETED', 'FAILED', 'CANCELLED')),
  version      integer NOT NULL,
  event_id     text COLLATE "C" NOT NULL,
  event_name   text NOT NULL,
  deadline_at  timestamptz,
  created_at   timestamptz NOT NULL,
  started_at   timestamptz,
  ended_at     timestamptz,
  output       text,
  error        text
) WITH (fillfactor = 60);
-- No indexed column of a run ever changes, so its updates stay on the page (HOT).
CREATE INDEX runs_by_function ON holdfast.runs (function_id, id);

-- Every fact of every run, append-only. version and status: what the head became with this row, null when it was not touched.
CREATE TABLE holdfast.run_log (
  seq        bigint GENERATED ALWAYS AS IDENTITY,
  at         timestamptz NOT NULL,
  version    integer,
  attempt    integer NOT NULL,
  iteration  integer NOT NULL,
  run_id     text COLLATE "C" NOT NULL,
  kind       text COLLATE "C" NOT NULL,
  key        text COLLATE "C" NOT NULL,
  status     text COLLATE "C",
  data       text NOT NULL,
  PRIMARY KEY (run_id, key, kind, attempt, iteration)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_analyze_scale_factor = 0.2);
-- Runs that ended badly are few: finding them costs nothing for the others.
CREATE INDEX run_log_bad_ends ON holdfast.run_log (kind, run_id) WHERE kind IN ('RUN_FAILED', 'RUN_CANCELLED');

-- What is to be dispatched. available_at is schedule, lease end and crash recovery in one.
CREATE TABLE holdfast.queue (
  id            text COLLATE "C" PRIMARY KEY,
  run_id        text COLLATE "C" NOT NULL,
  kind          text COLLATE "C" NOT NULL CHECK (kind IN ('pass', 'step', 'timer')),
  key           text COLLATE "C" NOT NULL,
  function_id   text COLLATE "C" NOT NULL,
  attempt       integer NOT NULL,
  iteration     integer NOT NULL,
  priority      integer NOT NULL,
  epoch         integer NOT NULL,
  available_at  timestamptz NOT NULL,
  created_at    timestamptz NOT NULL,
  -- Who holds the lease of this epoch; null when nobody does, or when it was given back.
  leased_by     text COLLATE "C",
  claimed_at    timestamptz,
  -- Names the claim, so that a claim whose answer was lost can be read again.
  claim_id      text COLLATE "C",
  -- The work of this epoch was lost: the next claim records it.
  lost          boolean NOT NULL,
  UNIQUE (run_id, kind, key)
) WITH (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0.1,
  autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX queue_due ON holdfast.queue (function_id, priority DESC, available_at);

CREATE TABLE holdfast.events (
  id           text COLLATE "C" PRIMARY KEY,
  name         text NOT NULL,
  ts           timestamptz NOT NULL,
  received_at  timestamptz NOT NULL,
  -- Ids of the runs it triggered, parted by spaces.
  run_ids      text COLLATE "C" NOT NULL,
  payload      text NOT NULL
);

-- Ids that senders gave, for 24 hours.
CREATE TABLE holdfast.event_keys (
  name         text COLLATE "C" NOT NULL,
  key          text COLLATE "C" NOT NULL,
  event_id     text COLLATE "C" NOT NULL,
  received_at  timestamptz NOT NULL,
  PRIMARY KEY (name, key)
);
CREATE INDEX event_keys_by_age ON holdfast.event_keys (received_at);

CREATE TABLE holdfast.functions (
  slug         text COLLATE "C" PRIMARY KEY,
  uuid         uuid NOT NULL UNIQUE,
  app_id       text COLLATE "C" NOT NULL,
  app_version  text NOT NULL,
  sdk          text NOT NULL,
  name         text NOT NULL,
  triggers     text NOT NULL,
  config       text NOT NULL,
  updated_at   timestamptz NOT NULL
);

CREATE TABLE holdfast.connections (
  id            text COLLATE "C" PRIMARY KEY,
  gateway_id    text COLLATE "C" NOT NULL,
  instance_id   text NOT NULL,
  app_ids       text NOT NULL,
  status        text NOT NULL,
  connected_at  timestamptz NOT NULL,
  seen_at       timestamptz NOT NULL
);

-- One row per store instance: its last committed batch. After a broken connection it tells what became of a commit.
CREATE TABLE holdfast.writers (
  id       text COLLATE "C" PRIMARY KEY,
  batch    bigint NOT NULL,
  xid      text NOT NULL,
  seen_at  timestamptz NOT NULL
) WITH (fillfactor = 20);
