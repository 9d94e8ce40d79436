/**
 * Who watches what happens to runs, at any gateway, and goes on at another one where it was cut off: the adversary
 * `watchers`. It is about `gateway-mock/src/live`: nothing is missing, nothing comes twice.
 */

import type { ChangeScope, LogChange, LogPosition, LogRow, StoredLogRow } from "@holdfast/store";
import { LogReader } from "../../../gateway-mock/src/live/log-reader.ts";
import { Watch, type Watched } from "../../../gateway-mock/src/live/watch.ts";
import { silentLog } from "../../../packages/core/src/index.ts";
import type { Tables } from "./database/tables.ts";
import type { GatewayNode } from "./gateway.ts";
import type { Network } from "./network.ts";
import type { Oracle } from "./oracle.ts";
import type { Dice } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";

export interface WatchedWorld {
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly tables: Tables;
  readonly oracle: Oracle;
  readonly liveGateways: readonly GatewayNode[];
  readonly faults: { readonly windowMs: number };
}

const QUIET_MS = 2_000;
const AGAIN_MS = 200;

interface Fact {
  readonly runId: string;
  readonly functionId: string;
  readonly name: string;
  readonly seq: number;
}

const nameOf = (
  runId: string,
  { kind, key, attempt, iteration }: Pick<LogRow, "kind" | "key" | "attempt" | "iteration">,
) => `${runId} ${kind} ${key} ${attempt}/${iteration}`;

/** The last row before a position of the memory store. */
const rowIn = (position: LogPosition): number => Number(position.split(".")[2]);

/** One who watches, as a client does that is cut off and comes back with the place of what it had last. */
class Watcher {
  readonly scope: ChangeScope;
  readonly seen = new Set<string>();
  /** What was written after this row it has to see. */
  from: number | null = null;
  #position: LogPosition | null = null;
  readonly #lastSeq = new Map<string, number>();
  /** Of the stream that it reads now. */
  #stream: object | null = null;
  #arrivesMs = 0;
  #leave: () => void = () => {};
  readonly #watchers: Watchers;
  readonly #dice: Dice;

  constructor(watchers: Watchers, scope: ChangeScope, dice: Dice) {
    this.#watchers = watchers;
    this.scope = scope;
    this.#dice = dice;
  }

  connect(): void {
    const { world, isOver } = this.#watchers;
    if (isOver) return;
    const { scheduler } = world;
    const up = world.liveGateways.filter(({ isUp }) => isUp);
    if (up.length === 0) return void scheduler.after(AGAIN_MS, null, () => this.connect());
    const gateway = this.#dice.pick(up);
    const stream = {};
    this.#stream = stream;
    const again = (): void => {
      if (this.#stream !== stream) return;
      this.#stream = null;
      this.#leave();
      scheduler.after(this.#dice.within(1, AGAIN_MS), null, () => this.connect());
    };
    gateway.actor.onDeath(again);
    // Some are cut off in the middle of a message.
    if (this.#dice.chance(0.4)) scheduler.after(this.#dice.within(5, 4_000), null, again);
    gateway.actor.soon(() => void this.#follow(gateway, stream).then(again, again));
  }

  leave(): void {
    this.#stream = null;
    this.#leave();
  }

  async #follow(gateway: GatewayNode, stream: object): Promise<void> {
    const { actor } = gateway;
    const watch = new Watch(this.#watchers.readerOf(gateway), actor.timers, this.scope, this.#position);
    this.#leave = () => watch.close();
    const began = await watch.begin();
    if (this.#stream !== stream) return watch.close();
    // The snapshot that goes with it is of this moment or later.
    this.#arrive(gateway, stream, () => {
      this.from ??= rowIn(began);
      this.#position ??= began;
    });
    for (;;) {
      const watched = await watch.next(QUIET_MS);
      if (this.#stream !== stream || !this.#take(gateway, stream, watched)) break;
    }
    watch.close();
  }

  /** False: the stream is over. */
  #take(gateway: GatewayNode, stream: object, watched: Watched): boolean {
    const { oracle } = this.#watchers.world;
    switch (watched.type) {
      case "CHANGES":
        for (const change of watched.changes) this.#arrive(gateway, stream, () => this.#read(change));
        return true;
      case "QUIET":
        this.#arrive(gateway, stream, () => {
          this.#position = watched.position;
        });
        return true;
      case "TOO_OLD":
        oracle.fail("S55", "A watcher is told that it is too far behind.");
        return false;
      case "CLOSED":
        return false;
    }
  }

  /** In the order in which it was sent; what is on its way when the stream is cut is lost. */
  #arrive({ actor }: GatewayNode, stream: object, act: () => void): void {
    const { scheduler, network } = this.#watchers.world;
    if (!actor.acts()) return;
    this.#arrivesMs = Math.max(this.#arrivesMs, scheduler.nowMs + this.#dice.within(0.1, network.conditions.latencyMs));
    scheduler.at(this.#arrivesMs, null, () => {
      if (this.#stream === stream) act();
    });
  }

  #read({ runId, seq, facts, position }: LogChange): void {
    const { oracle, tables } = this.#watchers.world;
    // A run that was deleted may be made again, when its event is sent once more.
    const isNew = !tables.removedIds.has(runId);
    for (const fact of facts) {
      const name = nameOf(runId, fact);
      if (isNew && this.seen.has(name)) oracle.fail("S55", `A watcher was told twice of ${name}.`);
      this.seen.add(name);
    }
    if (isNew && seq <= (this.#lastSeq.get(runId) ?? -1))
      oracle.fail("S55", `A watcher was told of row ${seq} of ${runId} late.`);
    this.#lastSeq.set(runId, seq);
    this.#position = position;
  }
}

export class Watchers {
  readonly world: WatchedWorld;
  isOver = false;
  readonly #dice: Dice;
  readonly #facts: Fact[] = [];
  readonly #watchers: Watcher[] = [];
  readonly #readers = new Map<GatewayNode, LogReader>();

  constructor(world: WatchedWorld, dice: Dice) {
    this.world = world;
    this.#dice = dice;
    const { tables, scheduler, faults } = world;
    const { watch } = tables;
    tables.watch = {
      ...watch,
      logged: (runId, row) => {
        watch.logged(runId, row);
        this.#logged(runId, row);
      },
    };
    for (let count = dice.between(1, 3); count > 0; count -= 1)
      scheduler.at(dice.within(0, 0.7 * faults.windowMs), null, () => this.#add());
  }

  readerOf(gateway: GatewayNode): LogReader {
    const known = this.#readers.get(gateway);
    if (known) return known;
    const { clock, timers } = gateway.actor;
    const reader = new LogReader({ store: gateway.store, clock, timers, log: silentLog });
    this.#readers.set(gateway, reader);
    return reader;
  }

  /** All that was written has been seen by those who watch it. */
  get areUpToDate(): boolean {
    return this.#missing() === undefined;
  }

  /** At the end of the schedule. */
  check(): void {
    const missing = this.#missing();
    if (missing !== undefined) this.world.oracle.fail("S55", `A watcher was not told of ${missing}.`);
    this.isOver = true;
    for (const watcher of this.#watchers) watcher.leave();
    for (const [{ actor }, reader] of this.#readers) if (actor.alive) actor.soon(() => void reader.close());
  }

  #add(): void {
    const { tables } = this.world;
    const dice = this.#dice;
    const runs = [...tables.runs.values()].filter(({ head }) => head.endedMs === null);
    const functions = [...tables.registry.all()].filter(({ active }) => active);
    const ofRun = runs.length > 0 && dice.chance(0.4);
    const ofFunction = functions.length > 0 && dice.chance(0.4);
    const scope: ChangeScope = ofRun
      ? { runIds: [dice.pick(runs).head.id], functionIds: [] }
      : { runIds: [], functionIds: ofFunction ? [dice.pick(functions).slug] : null };
    const watcher = new Watcher(this, scope, dice);
    this.#watchers.push(watcher);
    watcher.connect();
  }

  #logged(runId: string, row: StoredLogRow): void {
    const functionId = this.world.tables.runs.get(runId)?.head.functionId ?? "";
    this.#facts.push({ runId, functionId, name: nameOf(runId, row), seq: row.seq });
  }

  #missing(): string | undefined {
    const { removedIds } = this.world.tables;
    for (const { scope, from, seen } of this.#watchers) {
      if (from === null) continue;
      const { runIds, functionIds } = scope;
      const missing = this.#facts.find(
        ({ runId, functionId, name, seq }) =>
          seq > from &&
          (functionIds === null || functionIds.includes(functionId) || runIds.includes(runId)) &&
          !seen.has(name) &&
          // What was removed before it was read is not shown any more.
          !removedIds.has(runId),
      );
      if (missing) return missing.name;
    }
    return undefined;
  }
}
