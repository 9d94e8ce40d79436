import { describe, expect, test } from "vitest";
import { readHello } from "../../src/ws/hello.ts";
import { helloFrame } from "../server/raw-worker.ts";

const rules = { extensions: [], maxApps: 10, maxFunctions: 10, environmentOf: () => "" };

function hello(more: { instanceId?: string; app?: string; appVersion?: string; id?: string }) {
  const { instanceId = "i", app = "shop", appVersion = "1", id = "order" } = more;
  const options = { url: "", app, appVersion, functions: [{ id, event: "shop/order" }] };
  const frame = helloFrame(options, "01ARZ3NDEKTSV4RRFFQ69G5FAV", instanceId);
  if (frame.kind !== "WORKER_CONNECT") throw new Error("no hello");
  return readHello(frame, rules);
}

describe("Names sent by workers", () => {
  test("names of one line and moderate length are accepted", () => {
    expect(hello({})).toMatchObject({ ok: true });
    expect(hello({ app: "Läden & Co.", appVersion: "1.0.0-rc.1+x" })).toMatchObject({ ok: true });
  });

  test.each([
    ["NUL", "a\0b"],
    ["a new line", "a\nb"],
    ["an escape", "a\u001b[31m"],
    ["10,000 characters", "x".repeat(10_000)],
  ])("names with %s are rejected with a reason before anything is stored", (_what, name) => {
    for (const more of [{ app: name }, { appVersion: name }, { id: name }]) {
      const answer = hello(more);
      expect(answer, JSON.stringify(more).slice(0, 80)).toMatchObject({
        ok: false,
        refusal: { code: "config_invalid" },
      });
      if (!answer.ok) expect(answer.why).toMatch(/control character|1 to \d+ characters/);
    }
    expect(hello({ instanceId: name })).toMatchObject({ ok: false });
  });
});
