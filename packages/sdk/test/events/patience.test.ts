import { type FakeClock, fakeClock } from "@holdfast/testing";
import { describe, expect, test } from "vitest";
import type { GatewayAccess } from "../../src/events/gateway-access.ts";
import { sendEvents } from "../../src/events/send-events.ts";
import type { FetchLike, SendPorts } from "../../src/events/send-http.ts";
import { sendSignal } from "../../src/events/send-signal.ts";
import { Secret } from "../../src/options.ts";
import { invokeRun } from "../../src/runs/invoke-run.ts";

type Access = GatewayAccess & { readonly id: string };

const GATEWAY = "http://gateway.test/";
const inMode = (mode: GatewayAccess["mode"]): Access => ({
  id: "shop",
  mode,
  apiBaseUrl: GATEWAY,
  eventBaseUrl: GATEWAY,
  eventKey: new Secret("event-key"),
});

const calls: [what: string, call: (access: Access, ports: SendPorts) => Promise<unknown>, answer: object][] = [
  ["events", (access, ports) => sendEvents(access, undefined, [{ name: "a/b" }], ports), { ids: ["E"], status: 200 }],
  ["a signal", (access, ports) => sendSignal(access, { signal: "approved" }, ports), { data: { run_id: "R" } }],
  ["a run", (access, ports) => invokeRun(access, "f", {}, ports), { outcome: "started", runId: "R" }],
];

/** What a call comes to, on virtual time. */
async function outcomeOf(call: (ports: SendPorts) => Promise<unknown>, fetchAt: (clock: FakeClock) => FetchLike) {
  const clock = fakeClock();
  let outcome: unknown;
  call({ clock, timers: clock, random: () => 0.5, fetch: fetchAt(clock) }).then(
    () => (outcome = "answered"),
    (error: unknown) => (outcome = error),
  );
  for (let turn = 0; turn < 1_000 && outcome === undefined; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    if (outcome === undefined) await clock.runNext();
  }
  return outcome;
}

/** Connections are refused until `backAtMs`, as by a gateway that is being restarted. */
async function whileAway(backAtMs: number, answer: object, call: (ports: SendPorts) => Promise<unknown>) {
  const triedAtMs: number[] = [];
  const outcome = await outcomeOf(call, (clock) => async () => {
    triedAtMs.push(clock.monotonicMs());
    if (clock.monotonicMs() < backAtMs) throw new TypeError("fetch failed");
    return Response.json(answer);
  });
  return { outcome, triedAtMs };
}

describe.each(calls)("Sending %s while the gateway is away", (_what, call, answer) => {
  test("it is tried until the gateway is back", async () => {
    const { outcome } = await whileAway(8_000, answer, (ports) => call(inMode("cloud"), ports));
    expect(outcome).toBe("answered");
  });

  test("after ten seconds it fails, and says how often it was tried", async () => {
    const { outcome, triedAtMs } = await whileAway(Infinity, answer, (ports) => call(inMode("cloud"), ports));
    expect(outcome).toMatchObject({ message: expect.stringContaining(`after ${triedAtMs.length} tries`) });
    expect(triedAtMs.at(-1)).toBeGreaterThan(7_900);
    expect(triedAtMs.at(-1)).toBeLessThanOrEqual(10_000);
    expect(triedAtMs.length).toBeLessThan(12);
  });

  test("in dev mode it fails after five tries: the gateway was not started", async () => {
    const { outcome, triedAtMs } = await whileAway(Infinity, answer, (ports) => call(inMode("dev"), ports));
    expect(outcome).toMatchObject({ message: expect.stringContaining("after 5 tries") });
    expect(triedAtMs.at(-1)).toBeLessThan(2_500);
  });
});

test("a gateway that takes a call and is silent is tried five times", async () => {
  let tried = 0;
  const send = (ports: SendPorts) => sendEvents(inMode("cloud"), undefined, [{ name: "a/b" }], ports);
  const outcome = await outcomeOf(send, () => (_url, { signal }) => {
    tried += 1;
    return new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
  });
  expect(outcome).toMatchObject({ code: "EVENT_SEND_FAILED" });
  expect(tried).toBe(5);
});
