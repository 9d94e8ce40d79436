-- Time for tests. Only gateways that were started with virtual time ask these functions; all others ask now().

-- From `at` on (on the server's clock) time is `total_ms` ahead.
CREATE TABLE holdfast.time_skips (
  at        timestamptz PRIMARY KEY,
  total_ms  float8 NOT NULL
);

-- As now(): the same all through a transaction.
CREATE FUNCTION holdfast.now() RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT pg_catalog.now() + COALESCE((SELECT total_ms FROM holdfast.time_skips WHERE at <= pg_catalog.now()
    ORDER BY at DESC LIMIT 1), 0) * interval '1 millisecond'
$$;

-- As clock_timestamp(): goes on within a transaction.
CREATE FUNCTION holdfast.clock_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
  SELECT pg_catalog.clock_timestamp() + COALESCE((SELECT total_ms FROM holdfast.time_skips
    WHERE at <= pg_catalog.clock_timestamp() ORDER BY at DESC LIMIT 1), 0) * interval '1 millisecond'
$$;
