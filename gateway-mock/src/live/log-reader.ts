/**
 * Owns the one reader of the log that all live streams of a gateway share: it reads while something is watched, and keeps
 * the newest pages for watchers that are a little behind. Who is further behind reads by itself (`watch.ts`), so no
 * watcher has a buffer of its own, however slow it is (docs/decisions/0080).
 */
import { type Clock, type Log, messageOf, Semaphore, sleep, type Timers } from "@holdfast/core";
import type { ChangePage, ChangeRequest, ChangeScope, LogChange, LogPosition, Store } from "@holdfast/store";

export interface LogReaderOptions {
  readonly store: Pick<Store, "logEnd" | "readChanges" | "stats" | "onWake">;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
}

/** Rows that became visible between two looks. */
export interface Page {
  readonly number: number;
  readonly changes: readonly LogChange[];
  /** After it. */
  readonly position: LogPosition;
}

/** Where a look ended that began after it was asked for. */
export interface Turn {
  readonly number: number;
  readonly position: LogPosition;
}

const PAGE_ROWS = 500;
/** Pages that are kept: no more than this many characters of data, and rows. */
const MAX_KEPT_LENGTH = 8 * 1024 * 1024;
const MAX_KEPT_ROWS = 5_000;
/** How often it is looked whether this gateway has written something; that asks no database. */
const GLANCE_MS = 25;
/** How often the log is read when nothing says that there is something new: what other gateways write is seen so. */
const LOOK_MS = 250;
const FAILED_REST_MS = 500;
/** Readers of their own at the same time; the others wait for their turn. */
const OWN_READERS = 3;

/** What each watcher has registered: what it wants to see. */
export interface Scoped {
  readonly scope: ChangeScope;
}

export class LogReader {
  readonly #options: LogReaderOptions;
  readonly #watchers = new Set<Scoped>();
  readonly #own = new Semaphore(OWN_READERS);
  readonly #listeners = new Set<() => void>();
  readonly #turns: { readonly begun: number; readonly resolve: (turn: Turn) => void }[] = [];
  #pages: Page[] = [];
  #number = 0;
  #begun = 0;
  #head: LogPosition | null = null;
  #running: Promise<void> | null = null;
  #isPoked = false;
  readonly #closing = new AbortController();

  constructor(options: LogReaderOptions) {
    this.#options = options;
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  get nowMs(): number {
    return this.#options.clock.monotonicMs();
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  add(watcher: Scoped): void {
    this.#watchers.add(watcher);
    if (!this.isClosed) this.#running ??= this.#run();
  }

  remove(watcher: Scoped): void {
    this.#watchers.delete(watcher);
  }

  /** Of a look that begins after this call: what the watcher wants to see is part of it. */
  turn(): Promise<Turn> {
    this.#isPoked = true;
    return new Promise((resolve) => this.#turns.push({ begun: this.#begun + 1, resolve }));
  }

  /** Undefined: not read yet. `gone`: no longer kept. */
  page(number: number): Page | "gone" | undefined {
    if (number > this.#number) return undefined;
    const first = this.#pages[0];
    return (first && this.#pages[number - first.number]) ?? "gone";
  }

  /** Calls back after each page, and when the reader closes. */
  onPage(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** For a watcher that is behind. */
  readOwn(request: ChangeRequest): Promise<ChangePage> {
    return this.own(() => this.#options.store.readChanges(request));
  }

  /** Few at a time: connections to the database are few, however many watchers there are. */
  own<T>(task: () => Promise<T>): Promise<T> {
    return this.#own.run(task);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#settle(Number.POSITIVE_INFINITY);
    this.#announce();
    await this.#running;
  }

  async #run(): Promise<void> {
    const stop = this.#options.store.onWake(() => {
      this.#isPoked = true;
    });
    try {
      while (this.#watchers.size > 0 && !this.isClosed) await this.#look();
    } finally {
      stop();
      this.#pages = [];
      this.#head = null;
      this.#running = null;
      this.#settle(Number.POSITIVE_INFINITY);
    }
  }

  async #look(): Promise<void> {
    const { store, log, timers } = this.#options;
    this.#begun += 1;
    const begun = this.#begun;
    this.#isPoked = false;
    const { batches } = store.stats();
    try {
      this.#head ??= await store.logEnd();
      const page = await store.readChanges({ after: this.#head, scope: this.#scope(), limit: PAGE_ROWS });
      if (page.isTooOld) this.#skip();
      else this.#keep(page);
      if (!page.isTooOld) this.#settle(begun);
      if (page.isEnd) await this.#rest(batches);
    } catch (error) {
      log("debug", `The log could not be read for live streams: ${messageOf(error)}; retrying`);
      await sleep(timers, FAILED_REST_MS, this.#closing.signal);
    }
  }

  #keep({ changes, position }: ChangePage): void {
    this.#head = position;
    this.#number += 1;
    this.#pages.push({ number: this.#number, changes, position });
    let [rows, length] = [0, 0];
    const kept = this.#pages.findLastIndex((page) => {
      rows += page.changes.length;
      length += lengthOf(page.changes);
      return rows > MAX_KEPT_ROWS || length > MAX_KEPT_LENGTH;
    });
    this.#pages = this.#pages.slice(Math.min(kept + 1, this.#pages.length - 1));
    this.#announce();
  }

  /** After a long absence: the page that is not there tells each watcher that it has to find its own way. */
  #skip(): void {
    this.#head = null;
    this.#number += 1;
    this.#pages = [];
    this.#announce();
  }

  #settle(begun: number): void {
    const turn: Turn = { number: this.#number, position: this.#head ?? "" };
    const settled = this.#turns.filter((one) => one.begun <= begun);
    this.#turns.splice(0, this.#turns.length, ...this.#turns.filter((one) => one.begun > begun));
    for (const { resolve } of settled) resolve(turn);
  }

  #announce(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** Until there may be something new: this gateway has written, another one has said something, or some time has passed. */
  async #rest(batches: number): Promise<void> {
    const { clock, timers, store } = this.#options;
    const startedMs = clock.monotonicMs();
    do await sleep(timers, GLANCE_MS, this.#closing.signal);
    while (
      !this.isClosed &&
      !this.#isPoked &&
      store.stats().batches === batches &&
      clock.monotonicMs() - startedMs < LOOK_MS
    );
  }

  #scope(): ChangeScope {
    const scopes = [...this.#watchers].map(({ scope }) => scope);
    const runIds = [...new Set(scopes.flatMap((scope) => scope.runIds))];
    if (scopes.some(({ functionIds }) => functionIds === null)) return { runIds, functionIds: null };
    return { runIds, functionIds: [...new Set(scopes.flatMap(({ functionIds }) => functionIds ?? []))] };
  }
}

const lengthOf = (changes: readonly LogChange[]): number =>
  changes.reduce((sum, { facts }) => sum + facts.reduce((of, fact) => of + (fact.dataJson?.length ?? 0), 200), 0);
