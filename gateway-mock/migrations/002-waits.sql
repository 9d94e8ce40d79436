-- What runs wait for from outside: an event, a signal, the end of another run; and the events that cancel a run.
-- A wait that ends by itself has a timer in the queue. Rows go when the wait is over or the run ends.
CREATE TABLE holdfast.waits (
  run_id      text COLLATE "C" NOT NULL,
  -- Hashed id of the waiting step; "cancel:<n>" for what cancels the run.
  key         text COLLATE "C" NOT NULL,
  kind        text COLLATE "C" NOT NULL CHECK (kind IN ('event', 'signal', 'invoke', 'cancel')),
  -- The event's name, the signal, or the id of the other run.
  name        text COLLATE "C" NOT NULL,
  -- What the incoming event must fulfil; null = nothing.
  expression  text,
  -- Only what comes after this counts.
  began_at    timestamptz NOT NULL,
  -- Nothing counts from here on; null = no end.
  expires_at  timestamptz,
  PRIMARY KEY (run_id, key)
);
CREATE INDEX waits_by_name ON holdfast.waits (name, run_id, key);
CREATE UNIQUE INDEX waits_by_signal ON holdfast.waits (name) WHERE kind = 'signal';

-- Kinds of jobs are the code's business: 'event' and 'child' (tell those who wait; run_id is empty, key is the event or
-- the run that ended) and 'fetch' (an HTTP call of the gateway's own) join the others.
ALTER TABLE holdfast.queue DROP CONSTRAINT queue_kind_check;
