import { isDeepStrictEqual } from "node:util";
import type { Store } from "@holdfast/store";
import { expect } from "vitest";

import { type Model, openModel } from "./model.ts";
import type { Real } from "./postgres.ts";

const START_MS = 1_700_000_000_000;

/** Both stores, side by side: every call goes to both, and both have to say the same. */
export class Pair {
  readonly real: Real;
  readonly model: Model = openModel();
  nowMs = START_MS;
  /** What was called, for the reader of a failure. */
  readonly calls: string[] = [];
  /**
   * Instants at which something becomes due, within a second: of two that are due at once Postgres may take either, and
   * priorities move places by whole seconds.
   */
  readonly #taken = new Set<number>();

  constructor(real: Real) {
    this.real = real;
  }

  async begin(): Promise<void> {
    await this.real.clear();
    await this.advance(0);
  }

  async advance(byMs: number): Promise<void> {
    this.nowMs += byMs;
    this.model.setClock(this.nowMs);
    await this.real.setClock(this.nowMs);
  }

  /** About so long from now, at an instant that nothing else has. */
  alone(aboutMs: number): number {
    let atMs = this.nowMs + aboutMs;
    while (this.#taken.has(atMs % 1000)) atMs += 1;
    this.#taken.add(atMs % 1000);
    if (this.#taken.size > 900) throw new Error("too many instants");
    return atMs - this.nowMs;
  }

  /** The answer of both; a refusal is an answer. */
  async call<T>(what: string, make: (store: Store) => Promise<T>): Promise<T | undefined> {
    this.calls.push(what);
    const real = settled(make(this.real.store));
    const model = this.model.settle(settled(make(this.model.store)));
    const [wanted, got] = await Promise.all([real, model]);
    if (!isDeepStrictEqual(plain(got), plain(wanted))) {
      expect(plain(got), this.#why("the answer")).toEqual(plain(wanted));
    }
    return wanted.ok ? wanted.value : undefined;
  }

  #why(what: string): string {
    const calls = this.calls.map((call) => call.slice(0, 300)).slice(-8);
    return `${what} after ${this.calls.length} calls:\n${calls.join("\n")}\n`;
  }

  async compareTables(): Promise<void> {
    const [wanted, got] = [await this.real.dump(), this.model.dump()];
    for (const [table, rows] of Object.entries(wanted)) {
      const mine = sorted(got[table] ?? []);
      if (!isDeepStrictEqual(mine, sorted(rows))) expect(mine, this.#why(`table ${table}`)).toEqual(sorted(rows));
    }
  }
}

type Settled<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly code: unknown };

const settled = <T>(promise: Promise<T>): Promise<Settled<T>> =>
  promise.then(
    (value): Settled<T> => ({ ok: true, value }),
    (error: { code?: unknown }): Settled<T> => ({ ok: false, code: error.code }),
  );

/** Without what must differ: numbers of log rows, random uuids, ids of claims; and JSON of lost leases as Postgres writes it. */
function plain(value: unknown): unknown {
  const text = JSON.stringify(value, (name, inner: unknown) => {
    if (name === "seq" || name === "uuid" || name === "claimId") return undefined;
    if (name === "log") return inOrder(inner as readonly LogLine[]);
    if (name === "dataJson") return canonical(inner);
    return inner;
  });
  return text === undefined ? undefined : (JSON.parse(text) as unknown);
}

interface LogLine {
  readonly kind: string;
  readonly key: string;
}

/** Of several leases that one claim finds ended, any may be noted first. */
const inOrder = (log: readonly LogLine[]): readonly LogLine[] => [
  ...log.filter(({ kind }) => kind !== "LEASE_LOST"),
  ...log.filter(({ kind }) => kind === "LEASE_LOST").sort((a, b) => (a.key < b.key ? -1 : 1)),
];

function sorted(rows: readonly unknown[]): unknown[] {
  return rows
    .map((row) => {
      const fields = Object.entries(plain(row) as object).sort(([a], [b]) => (a < b ? -1 : 1));
      return Object.fromEntries(fields.map(([name, value]) => [name, value]));
    })
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

function canonical(text: unknown): string {
  const value = JSON.parse(text as string) as object;
  return JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
