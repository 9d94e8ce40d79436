import { HoldfastError } from "@holdfast/core";
import { describe, expect, test } from "vitest";
import { exitCodeOfChecks, failed, ok } from "../../src/cli/doctor/check.ts";
import { databaseChecks, databaseFix } from "../../src/cli/doctor/database-checks.ts";
import { keyChecks, machineChecks, startCheck } from "../../src/cli/doctor/local-checks.ts";
import { readyChecks } from "../../src/cli/doctor/ready-checks.ts";
import type { ServerFacts } from "../../src/open-store.ts";

const SOUND: ServerFacts = {
  version: "17.2",
  versionNumber: 170_002,
  settings: {
    fsync: "on",
    full_page_writes: "on",
    synchronous_commit: "on",
    transaction_read_only: "off",
    max_connections: "100",
    superuser_reserved_connections: "3",
  },
  isInRecovery: false,
  mayCreate: true,
  usedConnections: 5,
  aheadMs: 3,
  roundTripMs: 1,
  sessions: "own",
  notifies: true,
  refusedSettings: null,
};

const withSettings = (settings: Partial<ServerFacts["settings"]>): Partial<ServerFacts> => ({
  settings: { ...SOUND.settings, ...settings },
});

describe("What a server says of itself is judged", () => {
  test("a sound server passes every check, without anything to fix", () => {
    const checks = databaseChecks(SOUND, 10);
    expect(checks.filter(({ status }) => status !== "ok")).toEqual([]);
    expect(checks.map(({ name }) => name)).toEqual([
      "database",
      "wake-ups",
      "writes",
      "durability",
      "commits",
      "connections",
      "clock",
    ]);
  });

  test.each<[string, "warn" | "fail", Partial<ServerFacts>]>([
    ["database", "fail", { version: "13.1", versionNumber: 130_001 }],
    ["database", "warn", { roundTripMs: 80 }],
    ["pooler", "fail", { sessions: "transactions" }],
    ["pooler", "warn", { sessions: "pooled" }],
    ["settings", "fail", { refusedSettings: "unsupported startup parameter: jit" }],
    ["wake-ups", "fail", { notifies: false }],
    ["writes", "fail", { isInRecovery: true, notifies: false }],
    ["writes", "fail", withSettings({ transaction_read_only: "on" })],
    ["writes", "warn", { mayCreate: false }],
    ["durability", "fail", withSettings({ fsync: "off" })],
    ["durability", "fail", withSettings({ full_page_writes: "off" })],
    ["commits", "fail", withSettings({ synchronous_commit: "off" })],
    ["connections", "warn", withSettings({ max_connections: "17" })],
    ["clock", "warn", { aheadMs: -5_000 }],
    ["clock", "fail", { aheadMs: 90_000 }],
  ])("%s: %s for %j, and only that, with a fix", (name, status, facts) => {
    const wrong = databaseChecks({ ...SOUND, ...facts }, 10).filter((one) => one.status !== "ok");
    expect(wrong).toEqual([{ name, status, message: expect.any(String), fix: expect.stringMatching(/\w/) }]);
  });

  test("a difference of clocks that a slow answer explains is none", () => {
    const [check] = databaseChecks({ ...SOUND, aheadMs: 1_100, roundTripMs: 400 }, 10).slice(-1);
    expect(check).toMatchObject({ name: "clock", status: "ok" });
  });
});

test("the exit code says that something does not answer, unless something else is wrong as well", () => {
  const away = failed("database", new HoldfastError("DATABASE_UNREACHABLE", "gone"), "start it");
  const broken = failed("gateway", new Error("oops"), "see its log");
  expect(
    [[], [ok("port", "free")], [away, ok("port", "free")], [away, broken], [broken]].map(exitCodeOfChecks),
  ).toEqual([0, 0, 4, 1, 1]);
  expect(away).toMatchObject({ status: "fail", message: "gone", fix: "start it" });
});

test("a gateway whose database was too slow to lease work is to be looked at, one that says nothing is not", () => {
  expect(readyChecks({})).toEqual([]);
  const [check] = readyChecks({ slowLease: { tookMs: 12_340, leaseMs: 20_000, agoMs: 5_000 } });
  expect(check).toMatchObject({ name: "database", status: "warn", fix: expect.stringContaining("DATABASE_SLOW") });
  expect(check?.message).toContain("took 12.3 s to lease work, 5 s ago");
});

describe("What this machine and its configuration have is judged", () => {
  const key = "signkey-test-00112233445566778899aabbccddeeff";

  test("keys: both are right, one is to be looked at, one that cannot be used fails without being shown", () => {
    expect(keyChecks({ signingKey: key, eventKey: "e" })).toMatchObject([{ status: "ok" }]);
    expect(keyChecks({ signingKey: key })).toMatchObject([{ status: "warn" }]);
    const [wrong] = keyChecks({ signingKey: "s3cr3t" });
    expect(wrong).toMatchObject({ status: "fail" });
    expect(JSON.stringify(wrong)).not.toContain("s3cr3t");
  });

  test("what start lacks is named", () => {
    expect(startCheck({ signingKey: key })).toMatchObject({
      status: "warn",
      message: '"start" needs a database, an event key',
    });
    expect(startCheck({ signingKey: key, eventKey: "e", databaseUrl: "postgres://h/d" })).toMatchObject({
      status: "ok",
    });
  });

  test("more workers than files may be open are to be looked at", () => {
    expect(machineChecks(1).every(({ status }) => status === "ok")).toBe(true);
    expect(machineChecks(1_000_000_000).find(({ name }) => name === "files")).toMatchObject({ status: "warn" });
  });
});

test("what to do about a database that cannot be asked depends on why", () => {
  const forbidden = new HoldfastError("STORE_FAILED", "permission denied for schema holdfast (42501); restore it.");
  expect(databaseFix(forbidden)).toMatch(/owner of the schema holdfast.*docs\/backups\.md/);
  expect(databaseFix(new HoldfastError("OPTION_INVALID", "sslmode=verify"))).toBe("correct the database URL");
  expect(databaseFix(new HoldfastError("DATABASE_UNREACHABLE", "ECONNREFUSED"))).toMatch(/that the server runs/);
});
