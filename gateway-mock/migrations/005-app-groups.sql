-- Each set of functions that an app has come with, one row a deployment. The newest one says what triggers; while an older
-- one still connects (a rolling deploy) it changes nothing, and when the newer ones are gone for a minute it counts again.
CREATE TABLE holdfast.app_groups (
  app_id   text COLLATE "C" NOT NULL,
  hash     text COLLATE "C" NOT NULL,
  -- Since when it counts as the newest.
  since    timestamptz NOT NULL,
  seen_at  timestamptz NOT NULL,
  PRIMARY KEY (app_id, hash)
);
-- False: the newest deployment of its app does not have it. Its runs go on, but nothing starts new ones.
ALTER TABLE holdfast.functions ADD COLUMN active boolean NOT NULL DEFAULT true;
