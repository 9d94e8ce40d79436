import type { LoggerLike } from "@holdfast/core";
import * as v from "valibot";
import { expect, test } from "vitest";
import { Holdfast } from "../../src/app/holdfast.ts";
import { eventType } from "../../src/events/event-types.ts";
import type { HandlerContext } from "../../src/functions/define-function.ts";
import { Engine } from "./engine.ts";

function bench() {
  const lines: string[] = [];
  const at =
    (level: string) =>
    (first: unknown, text?: unknown): void =>
      void lines.push(`${level} ${String(text ?? first)}`);
  const logger: LoggerLike = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  const schemas = { "app/paid": v.object({}) };
  const client = new Holdfast({ id: "app", isDev: true, logger, schemas }, {});
  const run = async (handler: (context: HandlerContext<unknown>) => unknown): Promise<readonly string[]> => {
    const fn = client.createFunction({ id: "f", triggers: [] }, handler as never);
    for (let n = 0; n < 2; n += 1) await new Engine({ client, fn, inPlace: true, extended: {} }).run();
    return lines.splice(0);
  };
  return { run };
}

test("a wait for an event that is probably misspelt is a warning, once for its function", async () => {
  const { run } = bench();
  const lines = await run(({ step }) => step.waitForEvent("w", { event: "app/payd", timeout: "1h" }));
  expect(lines).toEqual([
    expect.stringMatching(/^warn .*`waitForEvent` of "app-f" names the event "app\/payd".*Did you mean "app\/paid"\?/),
  ]);
});

test("nothing is said of a wait for an event that is declared, here or by eventType(), or is like none", async () => {
  const { run } = bench();
  for (const event of ["app/paid", "bank/transferred", eventType("app/pays")]) {
    expect(await run(({ step }) => step.waitForEvent("w", { event: event as string, timeout: "1h" }))).toEqual([]);
  }
});
