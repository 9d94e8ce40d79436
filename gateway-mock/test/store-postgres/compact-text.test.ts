import { LOG_KINDS, type LogRow } from "@holdfast/store";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../packages/tooling/src/runs.ts";
import { compactEvent, wholeEvent } from "../../src/store-postgres/connection/compact-events.ts";
import { compactFact, type LogContext, wholeFact } from "../../src/store-postgres/connection/compact-facts.ts";
import { dataList, factsText, readFacts } from "../../src/store-postgres/connection/log-rows.ts";
import { migrate } from "../../src/store-postgres/connection/migrate.ts";
import { createTestDatabase } from "./harness.ts";

const runId = "01M83TDJTQ1GKZ6SSZ2MN97RYH";
const event = { id: "01M83TDJTQVPHR03G07NQDJMW9", name: "bench/one" };
const context: LogContext = { runId, event };

/** Pieces of real texts, whole or not, in any order, between other JSON. */
const part = fc.oneof(
  fc.json(),
  fc.string({ unit: "grapheme" }).map((text) => JSON.stringify(text)),
  fc.constantFrom(
    '{"run":{"maxAttempts":',
    '},"event":{"id":"',
    `},"event":{"id":"${event.id}","name":"${event.name}","data":`,
    `{"id":"${event.id}","name":"${event.name}","data":`,
    '","name":"',
    '","data":',
    ',"ts":1795424701271',
    ',"user":{}}',
    `{"job":"${runId}`,
    '","kind":"pass"',
    ',"plan":{"requestVersion":',
    '{"step":{"op":"StepRun","name":"',
    '},"data":',
    '{"output":',
    "x".repeat(500),
    "😀".repeat(250),
  ),
);
const text = fc.array(part, { minLength: 1, maxLength: 8 }).map((parts) => parts.join(""));
const fact: fc.Arbitrary<LogRow> = fc.record({
  kind: fc.constantFrom(...LOG_KINDS),
  key: fc.oneof(
    fc.constantFrom("", "a\\b\nc", "=a", "=\\=", "f8969a18a0daab6f59b42990613def0b8b6d48eb", "ff".repeat(20)),
    fc.string({ unit: "grapheme-ascii" }),
  ),
  attempt: fc.nat(3),
  iteration: fc.nat(3),
  dataJson: text,
});
const row = fc.array(fact, { minLength: 1, maxLength: 3 });
const columns = fc.record({
  id: fc.constantFrom(event.id, 'a"b'),
  name: fc.constantFrom(event.name, "@@pr-1:bench/one", 'a"b'),
  tsMs: fc.constantFrom(1795424701271, 0, -1, 1.5, 2 ** 50),
});

describe("Rows are short in Postgres", () => {
  it("whatever a fact's JSON is, it is read as it was given", () => {
    fc.assert(
      fc.property(fc.constantFrom(...LOG_KINDS), text, (kind, json) => {
        expect(wholeFact(compactFact(kind, json, context), context)).toBe(json);
        expect(wholeFact(compactFact(kind, json, { runId }), context)).toBe(json);
        expect(wholeFact(json, context)).toBe(json);
      }),
      { numRuns: runs(3_000) },
    );
  });

  it("whatever an event is, it is read as it was given", () => {
    fc.assert(
      fc.property(text, columns, (json, of) => {
        expect(wholeEvent(compactEvent(json, of), of)).toBe(json);
        expect(wholeEvent(json, of)).toBe(json);
      }),
      { numRuns: runs(3_000) },
    );
  });

  it("what a run with one step writes has little left of what all have", () => {
    const json = `{"id":"${event.id}","name":"${event.name}","data":{"index":1},"ts":1795424701271,"user":{}}`;
    expect(compactEvent(json, { ...event, tsMs: 1795424701271 })).toHaveLength('{"index":1}'.length + 3);
    const created = compactFact("RUN_CREATED", `{"run":{"maxAttempts":3},"event":${json}}`, context);
    expect(created).toBe('\u00013\u0002{"index":1}\u00061795424701271\u0007}');
    expect(compactFact("DISPATCHED", `{"job":"${runId.slice(0, -1)}J","kind":"pass"}`, context)).toBe(
      "\u0008\u000b7RYJ\u000c}",
    );
    const step =
      '{"step":{"op":"StepRun","name":"only","startedMs":1795424701281,"durationMs":0.002,"ordinal":0},"data":1}';
    expect(compactFact("STEP_COMPLETED", step)).toBe("\u0013only\u00151795424701281\u00160.002\u00170\u00181}");
  });

  it("what is no JSON and would be read as another text is refused", () => {
    for (const at of [0, 511, 512, 900]) {
      const bad = `"${"x".repeat(at)}\u0001${"x".repeat(1000)}"`;
      expect(() => compactFact("PINNED", bad)).toThrow(TypeError);
      expect(() => compactEvent(bad, { ...event, tsMs: 0 })).toThrow(TypeError);
    }
  });

  it("facts are read under the names that they had before, too", () => {
    const lines = "RUN_CREATED 0 0 \nDISPATCHED 2 1 a b\nLEASE_LOST 0 3 j";
    expect(readFacts(lines, '{"run":1}\u001e2\u001e3')).toEqual([
      { kind: "RUN_CREATED", key: "", attempt: 0, iteration: 0, dataJson: '{"run":1}' },
      { kind: "DISPATCHED", key: "a b", attempt: 2, iteration: 1, dataJson: "2" },
      { kind: "LEASE_LOST", key: "j", attempt: 0, iteration: 3, dataJson: "3" },
    ]);
    expect(() => readFacts("RUN_CREATE 0 0 ")).toThrow(/unknown kind/);
    expect(() => readFacts("j0 0 ")).toThrow(/unknown kind/);
  });

  it("the views of the database show them as the gateway reads them", async () => {
    const db = await createTestDatabase();
    await migrate(db.url);
    try {
      await db.sql`INSERT INTO holdfast.runs (id, event_id, event_name, function_id, app_id, created_at, app_version, status, version)
        VALUES (${runId}, ${event.id}, ${event.name}, 'f', 'a', now(), '', 'PENDING', 1)`;
      const written = fc.sample(row, runs(200));
      for (const facts of written) {
        const data = dataList([{ facts, context }]);
        await db.sql`INSERT INTO holdfast.run_log (run_id, at, facts, data) VALUES (${runId}, now(), ${factsText(facts)}, ${data})`;
      }
      const shown = await db.sql`SELECT kind, key, attempt, iteration, data AS "dataJson" FROM holdfast.run_facts
        WHERE run_id = ${runId} ORDER BY seq, place`;
      expect([...shown]).toEqual(written.flat());
      const events = fc.sample(fc.tuple(text, columns), runs(200));
      for (const [index, [json, of]] of events.entries()) {
        const id = `${of.id}${index}`;
        await db.sql`INSERT INTO holdfast.events (id, name, ts, received_at, run_ids, payload)
          VALUES (${id}, ${of.name}, to_timestamp(${of.tsMs}::float8 / 1000), now(), ${String(index)}, ${compactEvent(json, { ...of, id })})`;
      }
      const read = await db.sql`SELECT payload FROM holdfast.whole_events ORDER BY run_ids::int`;
      expect(read.map(({ payload }) => payload)).toEqual(events.map(([json]) => json));
    } finally {
      await db.drop();
    }
  });
});
