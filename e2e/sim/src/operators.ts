/**
 * Who runs runs again, forks, resumes and deletes them, one by one and in bulk, drains workers and rolls versions out, at
 * any moment and any gateway: the adversary `operators`. What must come of it is in `operator-oracle.ts`.
 */
import { BULK_ACTIONS, type BulkAction, environmentOf, plainName, type RunRow, type RunStatus } from "@holdfast/store";
import type { WantedVersion } from "../../../gateway-mock/src/dispatch/repair/repairs.ts";
import type { Callers } from "./callers.ts";
import type { Clients } from "./clients.ts";
import type { Tables } from "./database/tables.ts";
import type { GatewayNode } from "./gateway.ts";
import { BY_BULK, EDITED } from "./operator-words.ts";
import { APP_ID } from "./programs.ts";
import type { Dice } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";

export interface OperatorsWorld {
  readonly scheduler: Scheduler;
  readonly tables: Tables;
  readonly clients: Clients;
  readonly liveGateways: readonly GatewayNode[];
  readonly callers: Callers | null;
  /** Runs that someone asked to cancel. */
  readonly cancelled: Set<string>;
  readonly faults: { readonly windowMs: number; readonly isGentle: boolean };
}

const VERBS = [
  ...["rerun", "rerun", "fork", "fork", "fork", "resume", "resume", "delete", "delete", "cancel"],
  ...["bulk", "bulk", "stop bulk", "drain", "rollout"],
] as const;
type Verb = (typeof VERBS)[number];

const STATUSES: readonly RunStatus[] = ["PENDING", "RUNNING", "WAITING", "COMPLETED", "FAILED", "CANCELLED"];
const ENDED: readonly RunStatus[] = ["COMPLETED", "FAILED", "CANCELLED"];
/** Each makes as many runs as there are. */
const MOST_BULK_RERUNS = 2;
/** A call that is under way when it becomes calm is over by the last of these. */
const CALM_MS = [0, 5_000, 30_000];

export class Operators {
  readonly #world: OperatorsWorld;
  readonly #dice: Dice;
  readonly #pending = new Set<object>();
  #bulkReruns = 0;

  constructor(world: OperatorsWorld, dice: Dice) {
    this.#world = world;
    this.#dice = dice;
    const { scheduler, faults } = world;
    for (let count = dice.between(2, 12); count > 0; count -= 1) {
      const verb = dice.pick(VERBS);
      scheduler.at(dice.within(0, faults.windowMs), null, () => this.#act(verb));
    }
  }

  /** No call is under way any more. */
  get isDone(): boolean {
    return this.#pending.size === 0;
  }

  /** Nothing stays as it was set. */
  calm(): void {
    const { scheduler, tables } = this.#world;
    const { controls } = tables.registry;
    for (const inMs of CALM_MS) {
      scheduler.after(inMs, null, () => {
        for (const { instance } of controls.all().drains) controls.undrainWorker(instance);
        for (const { appId } of controls.all().rollouts) controls.removeRollout(appId);
      });
    }
  }

  #act(verb: Verb): void {
    const { liveGateways, scheduler } = this.#world;
    const up = liveGateways.filter(({ isUp }) => isUp);
    if (up.length === 0) return;
    const gateway = this.#dice.pick(up);
    const call = this.#callOf(verb, gateway);
    if (!call) return;
    scheduler.trace.note(scheduler.nowMs, gateway.name, "operator", verb);
    this.#make(gateway, call);
    // Some die in the middle of it.
    if (!this.#world.faults.isGentle && this.#dice.chance(0.15)) gateway.actor.dieAtAction(this.#dice.between(1, 60));
  }

  /** Once: a call that is lost is lost. */
  #make(gateway: GatewayNode, call: () => Promise<unknown>): void {
    const token = {};
    this.#pending.add(token);
    const over = (): void => void this.#pending.delete(token);
    gateway.actor.onDeath(over);
    // What it is about may be gone or have changed, and so may the gateway and the database.
    gateway.actor.soon(() => void call().then(over, over));
  }

  #callOf(verb: Verb, { core, store }: GatewayNode): (() => Promise<unknown>) | null {
    const { repairs, controls } = core.dispatcher;
    const dice = this.#dice;
    const version = this.#version();
    switch (verb) {
      case "rerun": {
        const run = this.#pick(() => true);
        return run && (() => repairs.rerun(run.head.id, { version }));
      }
      case "fork": {
        const run = this.#pick(({ log }) => log.some(({ kind }) => kind.startsWith("STEP_")));
        const rows = run?.log.filter(({ kind, key }) => kind.startsWith("STEP_") && key !== "") ?? [];
        if (!run || rows.length === 0) return null;
        const step = dice.pick(rows).key;
        const resultText = dice.chance(0.3) ? JSON.stringify(EDITED) : null;
        return () => repairs.fork(run.head.id, { step, resultText, version });
      }
      case "resume": {
        const run = this.#pick(({ head }) => head.status === "FAILED" || head.status === "CANCELLED");
        return run && (() => repairs.resume(run.head.id, version));
      }
      case "delete": {
        const cancels = dice.chance(0.3);
        const run = this.#pick((one) => this.#mayGo(one) && (cancels || one.head.endedMs !== null));
        if (run && cancels) this.#world.cancelled.add(run.head.id);
        return run && (() => repairs.deletions.delete(run.head.id, { cancels }));
      }
      case "cancel": {
        const run = this.#pick(({ head }) => head.endedMs === null);
        if (run) this.#world.cancelled.add(run.head.id);
        return run && (() => core.dispatcher.cancel(run.head.id, "asked for"));
      }
      case "bulk":
        return this.#bulk(core, version);
      case "stop bulk": {
        const { bulkJobs: jobs } = this.#world.tables;
        const ids = [...jobs.values()].filter(({ status }) => status === "RUNNING").map(({ id }) => id);
        const id = ids.length === 0 ? null : dice.pick(ids);
        return id === null ? null : () => store.stopBulkJob(id);
      }
      case "drain":
        return this.#drain(controls);
      case "rollout": {
        const rollout = dice.chance(0.8) ? { version: dice.pick(["1", "2"]), percent: dice.between(0, 100) } : null;
        return () => controls.setRollout("", APP_ID, rollout);
      }
    }
  }

  #bulk({ dispatcher }: GatewayNode["core"], version: WantedVersion): (() => Promise<unknown>) | null {
    const dice = this.#dice;
    const { tables, cancelled } = this.#world;
    const action: BulkAction = dice.pick(BULK_ACTIONS);
    const like = this.#pick(() => true)?.head;
    if (!like) return null;
    if (action === "rerun") this.#bulkReruns += 1;
    if (action === "rerun" && this.#bulkReruns > MOST_BULK_RERUNS) return null;
    if (action === "delete" && ![...tables.runs.values()].every((run) => this.#mayGo(run))) return null;
    // Which ones it reaches is not decided yet.
    if (action === "cancel") cancelled.add(BY_BULK);
    const environment = environmentOf(like.functionId);
    const status = dice.chance(0.5) ? STATUSES : action === "cancel" ? STATUSES : ENDED.filter(() => dice.chance(0.7));
    const filter = { environment, status, ...(dice.chance(0.4) ? { functionId: like.functionId } : {}) };
    return () => dispatcher.bulkJobs.create({ action, filter, version, again: true });
  }

  #drain(controls: GatewayNode["core"]["dispatcher"]["controls"]): (() => Promise<unknown>) | null {
    const listed = this.#world.tables.registry.connections();
    if (listed.length === 0) return null;
    const { instanceId, appIds } = this.#dice.pick(listed);
    const isDrained = this.#dice.chance(0.7);
    return () => controls.drainWorker(environmentOf(appIds[0] ?? ""), instanceId, isDrained);
  }

  #version(): WantedVersion {
    const type = this.#dice.pick(["newest", "newest", "same", "named"] as const);
    return type === "named" ? { type, version: this.#dice.pick(["", "1", "2"]) } : { type };
  }

  #pick(fits: (run: RunRow) => boolean): RunRow | null {
    const runs = [...this.#world.tables.runs.values()].filter(fits);
    return runs.length === 0 ? null : this.#dice.pick(runs);
  }

  /** An event that its sender may send once more, or has sent once more, would make the run again; so would a call. */
  #mayGo({ head }: RunRow): boolean {
    if (this.#world.callers?.mayRepeat(head.id)) return false;
    if (!plainName(head.eventName).startsWith("sim/")) return true;
    const { sendings } = this.#world.clients;
    return sendings.some(({ acceptedIds, underWay }) => acceptedIds?.includes(head.eventId) && underWay === 0);
  }
}
