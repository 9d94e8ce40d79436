import { systemClock, systemRandom, systemTimers } from "@holdfast/core";
import { expect, test } from "vitest";
import { runHandle } from "../../src/runs/run-handle.ts";
import { client } from "../execution/support.ts";

const resultOf = (error: unknown): Promise<unknown> => {
  const run = { id: "A", functionId: "app-f", status: "CANCELLED", error, output: null, endedMs: 2, continuedAs: null };
  const fetch = async (): Promise<Response> => Response.json(run);
  const ports = { clock: systemClock, timers: systemTimers, random: systemRandom, fetch };
  return runHandle(client.options, "A", ports).result();
};

test("a run that was cancelled while it undid its steps says how far that got, and what it had failed with", async () => {
  const compensation = { undone: ["b"], failed: [], notRun: ["a"] };
  const cause = { name: "NoRoom", message: "no room", code: "FULL" };
  const plain = { name: "HoldfastError", code: "RUN_CANCELLED", message: "stop", cause, compensation };
  const error = await resultOf(plain).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code: "RUN_CANCELLED",
    message: 'Run A of "app-f" was cancelled: stop',
    compensation,
    cause: { name: "NoRoom", message: "no room", code: "FULL" },
  });
  expect((error as Error).cause).toBeInstanceOf(Error);
});

test("a run that was cancelled before has neither", async () => {
  const error = await resultOf({ name: "HoldfastError", message: "stop" }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "RUN_CANCELLED" });
  expect(error).not.toHaveProperty("compensation");
  expect(error).not.toHaveProperty("cause");
});
