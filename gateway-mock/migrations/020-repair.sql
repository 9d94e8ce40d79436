-- Runs that were made of other runs: reruns and forks. Only these have a row.
CREATE TABLE holdfast.run_origins (
  run_id     text COLLATE "C" PRIMARY KEY,
  origin_id  text COLLATE "C" NOT NULL,
  kind       text COLLATE "C" NOT NULL,
  -- Of a fork: from which step.
  step       text
);
CREATE INDEX run_origins_by_origin ON holdfast.run_origins (origin_id, run_id);
