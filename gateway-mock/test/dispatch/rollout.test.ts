import { createUlidFactory, systemClock, systemRandom } from "@holdfast/core";
import { expect, test } from "vitest";
import { mayStart } from "../../src/dispatch/admission/may-start.ts";
import { isRolledOut, versionsToBegin } from "../../src/dispatch/admission/rollout.ts";

const newId = createUlidFactory(systemClock, systemRandom);
const rollout = { appId: "shop", version: "2", percent: 30 };

test("a rollout takes its share of runs, a run that is in it stays in it when the share grows, and apps differ", () => {
  const runIds = Array.from({ length: 20_000 }, () => newId());
  const taken = (percent: number, appId = "shop"): string[] =>
    runIds.filter((runId) => isRolledOut({ appId, percent }, runId));
  expect(taken(0)).toEqual([]);
  expect(taken(100)).toEqual(runIds);
  // Four times the standard deviation.
  for (const percent of [1, 30, 99.5]) {
    const expected = (runIds.length * percent) / 100;
    const off = 4 * Math.sqrt(expected * (1 - percent / 100));
    expect(Math.abs(taken(percent).length - expected)).toBeLessThan(off + 1);
  }
  const more = new Set(taken(50));
  expect(taken(30).every((runId) => more.has(runId))).toBe(true);
  expect(taken(30, "other")).not.toEqual(taken(30));
});

test("a run begins with the version of the rollout or with the newest other one, the rest comes after", () => {
  const all = { ...rollout, percent: 100 };
  expect(versionsToBegin(["3", "2", "1"], all, newId())).toEqual(["2", "3", "1"]);
  expect(versionsToBegin(["2", "1"], { ...rollout, percent: 0 }, newId())).toEqual(["1", "2"]);
  expect(versionsToBegin(["2"], { ...rollout, percent: 0 }, newId())).toEqual(["2"]);
  expect(versionsToBegin(["3", "1"], all, newId())).toEqual(["3", "1"]);
  expect(versionsToBegin(["3", "2"], null, newId())).toEqual(["3", "2"]);
});

test("START-6: a run that a rollout gives to another version is not leased on creation, and waits for that version", () => {
  const none = { isDraining: false, isPaused: false, hasNewLimits: false, hasBacklog: false };
  const facts = { versionPolicy: "any", ...none } as const;
  const work = { at: "NEW_RUN", functionId: "shop-order", newestVersion: "2", isDue: true, isLimited: false } as const;
  expect(mayStart({ ...work, rolledOut: "1" }, facts)).toEqual({ may: false, why: "VERSION", isElsewhere: false });
  expect(mayStart({ ...work, rolledOut: "2" }, facts)).toMatchObject({ may: true, version: "2" });
  const first = { at: "FIRST_PASS", functionId: "shop-order", newest: "1", waitedMs: 60_000 } as const;
  expect(mayStart({ ...first, isRolledOut: true }, facts)).toMatchObject({ version: "1", anyVersionInMs: null });
});
