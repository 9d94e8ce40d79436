/** Judges what a database server says of itself: whether a gateway can keep its promises on it. Pure. */
import { HoldfastError, messageOf } from "@holdfast/core";
import type { ServerFacts } from "../../open-store.ts";
import { type Check, fail, ok, warn } from "./check.ts";

const OLDEST_SERVER = 140_000;
/** What leases and tokens bear, and what shows that clocks are not kept. */
const SKEW_FAILS_MS = 60_000;
const SKEW_WARNS_MS = 1_000;
const SLOW_MS = 20;

export function databaseChecks(facts: ServerFacts, maxConnections: number): Check[] {
  return [
    versionCheck(facts),
    sessionCheck(facts),
    settingsCheck(facts),
    notifyCheck(facts),
    writeCheck(facts),
    fsyncCheck(facts),
    commitCheck(facts),
    roomCheck(facts, maxConnections),
    clockCheck(facts),
  ].flatMap((check) => (check === null ? [] : [check]));
}

function versionCheck({ version, versionNumber, roundTripMs }: ServerFacts): Check {
  if (versionNumber < OLDEST_SERVER) {
    return fail("database", `Postgres ${version} is too old`, "use Postgres 14 or newer");
  }
  const text = `Postgres ${version}, ${roundTripMs.toFixed(1)} ms away`;
  if (roundTripMs < SLOW_MS) return ok("database", text);
  return warn("database", text, "run gateways near the database: each step waits for a commit");
}

function sessionCheck({ sessions }: ServerFacts): Check | null {
  switch (sessions) {
    case "own":
      return null;
    case "pooled":
      return warn(
        "pooler",
        "there is a pooler in session mode in between: it works, and saves nothing",
        "connect to Postgres itself; a gateway has its own pool. The pooler needs --max-connections of its server connections for each gateway, all the time",
      );
    case "transactions":
      return fail(
        "pooler",
        "connections are shared transaction by transaction (a pooler in transaction mode): wake-ups, settings and prepared statements get lost",
        'connect to Postgres itself, or to the pooler in session mode (pool_mode = session); "start" refuses this',
      );
  }
}

function settingsCheck({ refusedSettings }: ServerFacts): Check | null {
  if (refusedSettings === null) return null;
  return fail(
    "settings",
    `the settings of a gateway's connections are refused: ${refusedSettings}`,
    "connect to Postgres itself, as a user who may set statement_timeout, plan_cache_mode, enable_seqscan and jit",
  );
}

function notifyCheck({ notifies, isInRecovery }: ServerFacts): Check | null {
  if (notifies) return ok("wake-ups", "LISTEN and NOTIFY work");
  if (isInRecovery) return null;
  return fail("wake-ups", "a NOTIFY did not arrive", "connect to Postgres itself, not to a pooler in transaction mode");
}

function writeCheck({ isInRecovery, settings, mayCreate }: ServerFacts): Check {
  if (isInRecovery) {
    return fail("writes", "the server is a standby and takes no writes", "name the primary in the database URL");
  }
  if (settings.transaction_read_only === "on") {
    return fail(
      "writes",
      "connections are read-only",
      "set default_transaction_read_only = off for this user and database",
    );
  }
  if (mayCreate) return ok("writes", "the server takes writes, and this user may create the schema");
  return warn(
    "writes",
    "the server takes writes; this user may not create a schema",
    'run "holdfast-gateway migrate" as a user who may, before each upgrade',
  );
}

function fsyncCheck({ settings }: ServerFacts): Check {
  const off = (["fsync", "full_page_writes"] as const).filter((name) => settings[name] === "off");
  if (off.length === 0) return ok("durability", "fsync and full_page_writes are on");
  const names = off.join(" and ");
  return fail(
    "durability",
    `${names} ${off.length === 1 ? "is" : "are"} off: a crash of the server may lose or damage what was acknowledged`,
    `set ${off.map((name) => `${name} = on`).join(", ")} in postgresql.conf, and reload`,
  );
}

function commitCheck({ settings }: ServerFacts): Check {
  const value = settings.synchronous_commit;
  if (value !== "off") return ok("commits", `synchronous_commit is ${value}`);
  return fail(
    "commits",
    "synchronous_commit is off: steps are acknowledged that a crash of the server loses",
    "set synchronous_commit = on for this user and database; remote_apply or on with a synchronous standby also outlives a failover",
  );
}

function roomCheck({ settings, usedConnections }: ServerFacts, maxConnections: number): Check {
  const all = Number(settings.max_connections) - Number(settings.superuser_reserved_connections);
  const free = all - usedConnections;
  const text = `${usedConnections} of ${all} are open; a gateway opens up to ${maxConnections}`;
  if (free >= maxConnections) return ok("connections", text);
  return warn("connections", text, "raise max_connections, or lower --max-connections");
}

function clockCheck({ aheadMs, roundTripMs }: ServerFacts): Check {
  const apartMs = Math.max(0, Math.abs(aheadMs) - roundTripMs / 2);
  const text = `the database's clock is ${Math.round(Math.abs(aheadMs))} ms ${aheadMs < 0 ? "behind" : "ahead of"} this machine's`;
  const fix = "keep both clocks with NTP";
  if (apartMs >= SKEW_FAILS_MS) return fail("clock", text, fix);
  return apartMs >= SKEW_WARNS_MS ? warn("clock", text, fix) : ok("clock", text);
}

/** SQLSTATE of what this user may not do. */
const FORBIDDEN = "(42501)";

/** What to do about a database that could not be asked. */
export function databaseFix(error: unknown): string {
  if (messageOf(error).includes(FORBIDDEN)) {
    return "make the user of the database URL the owner of the schema holdfast and of all in it; docs/backups.md says how to restore so";
  }
  if (HoldfastError.is(error) && error.code === "OPTION_INVALID") return "correct the database URL";
  return "check the database URL, and that the server runs and lets this machine in";
}
