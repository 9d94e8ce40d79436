/** The table of what runs wait for, found by its name. */
import type { NewWait, StoredWait, WaitKind, WaitQuery } from "../port/events.ts";
import { Groups } from "./groups.ts";
import { byText, type EventRow, type RunRow, type TableClock, type WaitRow } from "./rows.ts";

const EVENT_KINDS: readonly WaitKind[] = ["event", "cancel"];

/** What runs wait for, found by its name. Each wait is also in its run's row. */
export class Waits {
  readonly #runs: ReadonlyMap<string, RunRow>;
  readonly #clock: TableClock;
  readonly #byName = new Groups<WaitRow>();

  constructor(runs: ReadonlyMap<string, RunRow>, clock: TableClock) {
    this.#runs = runs;
    this.#clock = clock;
  }

  insert(run: RunRow, wait: NewWait): void {
    const { runId, key, kind, name, expression = null, match = "", expiresInMs } = wait;
    if (run.waits.has(key)) return;
    const beganMs = this.#clock.nowMs();
    const expiresMs = expiresInMs == null ? null : beganMs + expiresInMs;
    const row = { runId, key, kind, name, expression, match, beganMs, expiresMs, order: this.#clock.order() };
    run.waits.set(key, row);
    this.#byName.add(name, row);
  }

  remove(runId: string, key: string): void {
    const run = this.#runs.get(runId);
    const row = run?.waits.get(key);
    if (!run || !row) return;
    run.waits.delete(key);
    this.#byName.delete(row.name, row);
  }

  removeOfRun(runId: string): void {
    for (const key of [...(this.#runs.get(runId)?.waits.keys() ?? [])]) this.remove(runId, key);
  }

  all(): StoredWait[] {
    return [...this.#runs.values()].flatMap(({ waits }) => [...waits.values()].map(waitOf));
  }

  isAwaited(eventName: string): boolean {
    for (const { kind } of this.#byName.of(eventName)) if (EVENT_KINDS.includes(kind)) return true;
    return false;
  }

  /** Whether anyone waits for the end of this run. */
  hasParent(runId: string): boolean {
    for (const { kind } of this.#byName.of(runId)) if (kind === "invoke") return true;
    return false;
  }

  ofSignal(name: string): StoredWait | undefined {
    for (const wait of this.#byName.of(name)) if (wait.kind === "signal") return waitOf(wait);
    return undefined;
  }

  find({ name, kinds, eventId, matches = [""], limit, after }: WaitQuery, event: EventRow | undefined): StoredWait[] {
    if (eventId !== undefined && !event) return [];
    const isMeant = (wait: WaitRow): boolean =>
      kinds.includes(wait.kind) &&
      matches.includes(wait.match) &&
      (!after || byPlace(wait, after) > 0) &&
      (!event || (wait.order < event.order && this.#runs.get(wait.runId)?.head.eventId !== eventId)) &&
      (!event || wait.expiresMs === null || wait.expiresMs > event.receivedMs);
    return [...this.#byName.of(name)]
      .filter(isMeant)
      .sort(byPlace)
      .slice(0, Math.min(Math.max(limit, 1), 1000))
      .map(waitOf);
  }

  paths(name: string): string[] {
    const matches = [...this.#byName.of(name)].filter(({ match }) => match !== "");
    return [...new Set(matches.map(({ match }) => match.split("\n")[0] ?? ""))].sort(byText);
  }
}

export const waitOf = ({ order: _, ...wait }: WaitRow): StoredWait => wait;

type Place = Pick<StoredWait, "match" | "runId" | "key">;

const byPlace = (a: Place, b: Place): number =>
  byText(a.match, b.match) || byText(a.runId, b.runId) || byText(a.key, b.key);
