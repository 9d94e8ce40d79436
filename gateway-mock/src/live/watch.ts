/**
 * One watcher's way through the log: from the pages that all share while it keeps up, from the store where it is behind.
 * Between the two its position says what it has, so nothing is missing and nothing comes twice.
 */
import type { TimerHandle, Timers } from "@holdfast/core";
import type { ChangeScope, LogChange, LogPosition } from "@holdfast/store";
import type { LogReader, Turn } from "./log-reader.ts";

export type Watched =
  | { readonly type: "CHANGES"; readonly changes: readonly LogChange[]; readonly position: LogPosition }
  /** Nothing for a while; everything up to here was seen. */
  | { readonly type: "QUIET"; readonly position: LogPosition }
  /** So much has happened since the position that the watcher has to begin anew. */
  | { readonly type: "TOO_OLD" }
  /** The gateway ends its streams. */
  | { readonly type: "CLOSED" };

const OWN_ROWS = 100;
/** Of what a watcher is given at a time, and has until it is sent: about so many characters, but one row at least. */
const MAX_LENGTH = 64 * 1024;
/** What a row takes beside its data. */
const ROW_LENGTH = 500;

export class Watch {
  readonly scope: ChangeScope;
  readonly #reader: LogReader;
  readonly #timers: Timers;
  #position: LogPosition | null;
  /** The page that comes next; null while it is behind. */
  #next: number | null = null;
  /** Rows of it that it has had already. */
  #taken = 0;
  #target: Turn | null = null;
  #isOver = false;

  /** Without a position it begins at the end of the log. */
  constructor(reader: LogReader, timers: Timers, scope: ChangeScope, position: LogPosition | null) {
    this.#reader = reader;
    this.#timers = timers;
    this.scope = scope;
    this.#position = position;
    reader.add(this);
  }

  /** Where it begins: what comes later is seen. */
  async begin(): Promise<LogPosition> {
    if (this.#position !== null) return this.#position;
    const turn = await this.#reader.turn();
    this.#join(turn);
    return turn.position;
  }

  /** The next rows, all of one page; what there is after `quietMs` without any. */
  async next(quietMs: number): Promise<Watched> {
    await this.begin();
    const endMs = this.#reader.nowMs + quietMs;
    for (;;) {
      if (this.#isOver || this.#reader.isClosed) return { type: "CLOSED" };
      const watched = this.#next === null ? await this.#catchUp() : this.#fromPage(this.#next);
      if (watched) return watched;
      if (this.#next === null || this.#reader.page(this.#next) !== undefined) continue;
      const leftMs = endMs - this.#reader.nowMs;
      if (leftMs <= 0 || !(await this.#paged(leftMs))) return { type: "QUIET", position: this.#position ?? "" };
    }
  }

  close(): void {
    this.#isOver = true;
    this.#reader.remove(this);
  }

  #join({ number, position }: Turn): void {
    this.#next = number + 1;
    this.#taken = 0;
    this.#position = position;
    this.#target = null;
  }

  #fromPage(number: number): Watched | null {
    const page = this.#reader.page(number);
    if (page === "gone") this.#next = null;
    if (page === "gone" || page === undefined) return null;
    const wanted = page.changes.filter((change) => this.#wants(change));
    const changes = firstOf(wanted.slice(this.#taken));
    this.#taken += changes.length;
    const isRead = this.#taken === wanted.length;
    const position = isRead ? page.position : (changes.at(-1)?.position ?? page.position);
    this.#position = position;
    if (isRead) [this.#next, this.#taken] = [number + 1, 0];
    return changes.length === 0 ? null : { type: "CHANGES", changes, position };
  }

  async #catchUp(): Promise<Watched | null> {
    const target = this.#target ?? (await this.#reader.turn());
    if (this.#reader.isClosed || this.#isOver) return null;
    this.#target = target;
    const after = this.#position ?? target.position;
    const request = { after, until: target.position, scope: this.scope, limit: OWN_ROWS };
    const page = await this.#reader.readOwn(request);
    if (page.isTooOld) return { type: "TOO_OLD" };
    const changes = firstOf(page.changes);
    const last = changes.at(-1);
    if (last && changes.length < page.changes.length) this.#position = last.position;
    else if (page.isEnd) this.#join(target);
    else this.#position = page.position;
    return changes.length === 0 ? null : { type: "CHANGES", changes, position: this.#position ?? page.position };
  }

  #wants({ runId, functionId }: LogChange): boolean {
    const { runIds, functionIds } = this.scope;
    return functionIds === null || functionIds.includes(functionId) || runIds.includes(runId);
  }

  /** False: no page came in time. */
  #paged(limitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      let timer: TimerHandle | null = null;
      const done = (isPaged: boolean): void => {
        timer?.cancel();
        stop();
        resolve(isPaged);
      };
      const stop = this.#reader.onPage(() => done(true));
      timer = this.#timers.set(limitMs, () => done(false));
    });
  }
}

function firstOf(changes: readonly LogChange[]): readonly LogChange[] {
  let length = 0;
  const end = changes.findIndex(({ facts }, index) => {
    length += facts.reduce((sum, { dataJson }) => sum + (dataJson?.length ?? 0), ROW_LENGTH);
    return length > MAX_LENGTH && index > 0;
  });
  return end < 0 ? changes : changes.slice(0, end);
}
