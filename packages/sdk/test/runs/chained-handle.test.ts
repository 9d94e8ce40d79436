import { systemClock, systemRandom, systemTimers } from "@holdfast/core";
import { expect, test } from "vitest";
import type { Run } from "../../src/events/runs.ts";
import { runHandle } from "../../src/runs/run-handle.ts";
import { client } from "../execution/support.ts";

const ended = (id: string, more: Partial<Run>): object => ({
  ...{ id, functionId: "app-f", appId: "app", environment: "", appVersion: "", eventId: "e", eventName: "n" },
  ...{ status: "COMPLETED", output: null, error: null, createdMs: 1, startedMs: 1, endedMs: 2 },
  ...{ createdAt: "", startedAt: "", endedAt: "", ...more },
});

test("the handle of a run that went on as others has the result and the status of the last one", async () => {
  const runs = new Map([
    ["A", ended("A", { continuedAs: "B" })],
    ["B", ended("B", { continuedAs: "C" })],
    ["C", ended("C", { continuedAs: null, output: "over" })],
  ]);
  const asked: string[] = [];
  const ports = {
    ...{ clock: systemClock, timers: systemTimers, random: systemRandom },
    fetch: async (url: string | URL | Request) => {
      const id = new URL(String(url)).pathname.split("/").at(-1) ?? "";
      asked.push(id);
      return Response.json(runs.get(id));
    },
  };
  const handle = runHandle<string>(client.options, "A", ports);
  expect(await handle.result()).toBe("over");
  expect(asked).toEqual(["A", "B", "C"]);
  expect(await handle.status()).toBe("COMPLETED");
});
