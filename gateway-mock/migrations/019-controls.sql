-- What people set while everything runs. Gateways read it with the registry of functions; each change raises the registry's
-- version, so that no gateway hands out work, or decides, by what was set before. Gateways of the version before do not read it:
-- they go on as if nothing were set.

-- Nothing of these functions is handed out.
CREATE TABLE holdfast.function_pauses (
  function_id  text COLLATE "C" PRIMARY KEY,
  since        timestamptz NOT NULL,
  note         text
) WITH (fillfactor = 50);

-- The version that so many of a hundred new runs of an app begin with.
CREATE TABLE holdfast.app_rollouts (
  app_id   text COLLATE "C" PRIMARY KEY,
  version  text NOT NULL,
  percent  float8 NOT NULL CHECK (percent BETWEEN 0 AND 100),
  since    timestamptz NOT NULL
) WITH (fillfactor = 50);

-- Workers that are given no new work, by instance id, with the environment before it.
CREATE TABLE holdfast.worker_drains (
  instance  text COLLATE "C" PRIMARY KEY,
  since     timestamptz NOT NULL
) WITH (fillfactor = 50);

CREATE TRIGGER pauses_inserted AFTER INSERT ON holdfast.function_pauses REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION holdfast.registry_changed();
CREATE TRIGGER pauses_updated AFTER UPDATE ON holdfast.function_pauses REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION holdfast.registry_changed();
CREATE TRIGGER pauses_deleted AFTER DELETE ON holdfast.function_pauses REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION holdfast.registry_changed();
CREATE TRIGGER rollouts_inserted AFTER INSERT ON holdfast.app_rollouts REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION holdfast.registry_changed();
CREATE TRIGGER rollouts_updated AFTER UPDATE ON holdfast.app_rollouts REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION holdfast.registry_changed();
CREATE TRIGGER rollouts_deleted AFTER DELETE ON holdfast.app_rollouts REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION holdfast.registry_changed();
CREATE TRIGGER drains_inserted AFTER INSERT ON holdfast.worker_drains REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION holdfast.registry_changed();
CREATE TRIGGER drains_deleted AFTER DELETE ON holdfast.worker_drains REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION holdfast.registry_changed();
