-- Graphs: definitions with a draft, versions that never change, and what triggers those that are published. Gateways of the
-- version before know none of it: they take events in without starting graphs.

CREATE TABLE holdfast.graphs (
  uid           text COLLATE "C" PRIMARY KEY,
  environment   text COLLATE "C" NOT NULL,
  tenant        text COLLATE "C" NOT NULL,
  id            text COLLATE "C" NOT NULL,
  title         text NOT NULL,
  -- The function that runs it; null = the only one there is.
  runner        text COLLATE "C",
  -- Of the draft, which was written last by this write.
  revision      integer NOT NULL,
  draft         text NOT NULL,
  write_id      text COLLATE "C" NOT NULL,
  -- The published one; null = none.
  version       integer,
  last_version  integer NOT NULL DEFAULT 0,
  created_at    timestamptz NOT NULL,
  updated_at    timestamptz NOT NULL,
  published_at  timestamptz,
  UNIQUE (environment, tenant, id)
);

CREATE TABLE holdfast.graph_versions (
  uid           text COLLATE "C" NOT NULL,
  version       integer NOT NULL,
  revision      integer NOT NULL,
  -- The graph, and the graphs that it names.
  snapshot      text NOT NULL,
  write_id      text COLLATE "C" NOT NULL,
  published_at  timestamptz NOT NULL,
  PRIMARY KEY (uid, version)
);

-- Of those that are published and that something triggers. Read with the registry of functions, whose version rises with each
-- change, so that no gateway starts runs by what was published before.
CREATE TABLE holdfast.graph_triggers (
  uid          text COLLATE "C" PRIMARY KEY,
  environment  text COLLATE "C" NOT NULL,
  tenant       text COLLATE "C" NOT NULL,
  id           text COLLATE "C" NOT NULL,
  version      integer NOT NULL,
  runner       text COLLATE "C" NOT NULL,
  triggers     text NOT NULL
) WITH (fillfactor = 50);

CREATE TRIGGER graph_triggers_inserted AFTER INSERT ON holdfast.graph_triggers REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION holdfast.registry_changed();
CREATE TRIGGER graph_triggers_updated AFTER UPDATE ON holdfast.graph_triggers REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION holdfast.registry_changed();
CREATE TRIGGER graph_triggers_deleted AFTER DELETE ON holdfast.graph_triggers REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION holdfast.registry_changed();

-- Runs that were made of graphs; those of functions have no row.
CREATE TABLE holdfast.graph_runs (
  run_id      text COLLATE "C" PRIMARY KEY,
  -- "" = of a graph that is not stored.
  uid         text COLLATE "C" NOT NULL,
  version     integer,
  test        boolean NOT NULL,
  created_at  timestamptz NOT NULL
);
CREATE INDEX graph_runs_by_graph ON holdfast.graph_runs (uid, run_id);
CREATE INDEX graph_runs_of_tests ON holdfast.graph_runs (created_at) WHERE test;
