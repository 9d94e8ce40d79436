import { describe, expect, test } from "vitest";
import { HoldfastClient } from "../../src/app/client.ts";
import type { RunEvent } from "../../src/events/run-events.ts";

type Answer =
  | { readonly pieces: readonly string[]; readonly hangs?: true }
  | { readonly status: number; readonly body: object };

function clientOf(answers: readonly Answer[], options: { signingKey?: string; signingKeyFallback?: string } = {}) {
  const calls: { readonly url: string; readonly headers: Headers }[] = [];
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const answer = answers[calls.length];
    calls.push({ url, headers: new Headers(init.headers) });
    if (!answer) throw new TypeError("fetch failed");
    if ("status" in answer) return new Response(JSON.stringify(answer.body), { status: answer.status });
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const piece of answer.pieces) controller.enqueue(encoder.encode(piece));
        init.signal?.addEventListener("abort", () => controller.error(new Error("aborted")));
        if (!answer.hangs) controller.close();
      },
    });
    return new Response(body, { headers: { "Content-Type": "text/event-stream; charset=utf-8" } });
  };
  const client = new HoldfastClient({ id: "a", isDev: true, baseUrl: "http://gateway.test", fetch, ...options }, {});
  return { client, calls };
}

const message = (event: string, data: object, id?: string): string =>
  `event: ${event}\n${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
const row = (seq: number, facts: readonly object[], status: string | null = null): string =>
  message("facts", { runId: "r1", functionId: "a-f", seq, atMs: seq * 10, status, facts }, `p${seq}`);
const step = (name: string): object => ({
  kind: "STEP_COMPLETED",
  attempt: 0,
  step: { id: `#${name}`, name, op: "StepRun" },
  output: name.length,
});
const END = message("end", { status: "COMPLETED" }, "p9");

async function all(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const list: RunEvent[] = [];
  for await (const event of events) list.push(event);
  return list;
}

describe("a run that is followed", () => {
  test("is told as a snapshot and fact by fact, and ends with the run", async () => {
    const snapshot = message("snapshot", { run: { id: "r1", status: "RUNNING" } }, "p0");
    const text =
      snapshot + row(1, [step("charge"), { kind: "RUN_COMPLETED", attempt: 0, output: 7 }], "COMPLETED") + END;
    // Cut anywhere, also within a character.
    const { client, calls } = clientOf([{ pieces: [...text] }]);
    const events = await all(client.runs.follow("r/1"));
    expect(events).toEqual([
      { kind: "SNAPSHOT", runs: [{ id: "r1", status: "RUNNING" }] },
      {
        ...step("charge"),
        isCut: false,
        runId: "r1",
        functionId: "a-f",
        seq: 1,
        atMs: 10,
        status: "COMPLETED",
      },
      expect.objectContaining({ kind: "RUN_COMPLETED", output: 7, status: "COMPLETED" }),
    ]);
    expect(calls[0]?.url).toBe("http://gateway.test/v1/runs/r%2F1/stream?from=now");
  });

  test("goes on where it broke off, also in the middle of a message, and leaves out what it had", async () => {
    const { client, calls } = clientOf([
      { pieces: [row(1, [step("a")]), row(2, [step("b")]).slice(0, -3)] },
      { status: 503, body: { error: "The gateway is starting." } },
      { pieces: [row(1, [step("a")]), row(2, [step("b")]), ": still here\nid: p7\n\n"] },
      { pieces: [row(8, [step("c")]), END] },
    ]);
    const events = await all(client.runs.follow("r1", { from: "start" }));
    expect(events.map((event) => ("step" in event ? event.step.name : event.kind))).toEqual(["a", "b", "c"]);
    expect(calls.map(({ headers }) => headers.get("last-event-id"))).toEqual([null, "p1", "p1", "p7"]);
    expect(calls.every(({ url }) => url.endsWith("/stream?from=start"))).toBe(true);
  });

  test("says so where a gateway does not know the place to go on from, and begins anew", async () => {
    const { client, calls } = clientOf([
      { pieces: [row(1, [step("a")])] },
      { status: 400, body: { error: "no position", code: "POSITION_INVALID" } },
      { pieces: [message("snapshot", { run: { id: "r1", status: "COMPLETED" } }, "q0"), END] },
    ]);
    const events = await all(client.runs.follow("r1"));
    expect(events.map(({ kind }) => kind)).toEqual(["STEP_COMPLETED", "RESET", "SNAPSHOT"]);
    expect(calls[2]?.headers.get("last-event-id")).toBeNull();
  });

  test("ends when its signal is aborted, before, while and after it waits", async () => {
    const { client } = clientOf([{ pieces: [row(1, [step("a")])], hangs: true }]);
    const end = new AbortController();
    const seen: string[] = [];
    for await (const { kind } of client.runs.follow("r1", { signal: end.signal })) {
      seen.push(kind);
      setTimeout(() => end.abort(), 5);
    }
    expect(seen).toEqual(["STEP_COMPLETED"]);
    expect(await all(client.runs.follow("r1", { signal: end.signal }))).toEqual([]);
  });

  test("is an error that says why where no gateway can be reached", async () => {
    const refused = new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED 127.0.0.1:8288") });
    const fetch = async (): Promise<Response> => {
      throw refused;
    };
    const client = new HoldfastClient({ id: "a", isDev: true, baseUrl: "http://gateway.test", fetch }, {});
    await expect(all(client.runs.follow("r1"))).rejects.toMatchObject({
      code: "RUNS_UNAVAILABLE",
      message:
        "The gateway at http://gateway.test cannot be followed at /v1/runs/r1/stream: connect ECONNREFUSED 127.0.0.1:8288",
      cause: refused,
    });
  });

  test("that does not exist, or may not be seen, is an error at once", async () => {
    const gone = clientOf([{ status: 404, body: { error: "There is no run r1.", code: "NOT_FOUND" } }]);
    await expect(all(gone.client.runs.follow("r1"))).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: expect.stringContaining("There is no run r1."),
    });
    expect(gone.calls).toHaveLength(1);
    const keys = { signingKey: "0f".repeat(16), signingKeyFallback: "1f".repeat(16) };
    const closed = clientOf([{ status: 401, body: {} }, { pieces: [END] }], keys);
    expect(await all(closed.client.runs.follow("r1"))).toEqual([]);
    const refused = clientOf(
      [
        { status: 401, body: {} },
        { status: 401, body: {} },
      ],
      keys,
    );
    await expect(all(refused.client.runs.follow("r1"))).rejects.toMatchObject({ code: "RUNS_UNAVAILABLE" });
  });
});

test("runs of a function, and of statuses, are asked for by name", async () => {
  const { client, calls } = clientOf([{ status: 404, body: { error: "no such function" } }]);
  const events = client.runs.follow({ functionId: "shop-order", status: ["FAILED", "CANCELLED"] });
  await expect(all(events)).rejects.toMatchObject({ code: "RUNS_UNAVAILABLE" });
  expect(calls[0]?.url).toBe("http://gateway.test/v1/runs/stream?function=shop-order&status=FAILED%2CCANCELLED");
});
