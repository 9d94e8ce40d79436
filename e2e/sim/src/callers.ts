/**
 * Who invokes functions from outside and waits for their ends, at any gateway, also when gateways die meanwhile: the
 * adversary `callers`. It does what `app.invoke` and `result()` do over HTTP.
 */
import { plainName } from "@holdfast/store";
import type { Tables } from "./database/tables.ts";
import { slugOf } from "./flow-oracle.ts";
import type { GatewayNode } from "./gateway.ts";
import type { Network } from "./network.ts";
import type { Oracle } from "./oracle.ts";
import type { FunctionPlan } from "./programs.ts";
import type { Dice } from "./random.ts";
import { Actor } from "./scheduler.ts";

export interface CallersWorld {
  readonly network: Network;
  readonly tables: Tables;
  readonly oracle: Oracle;
  readonly functions: readonly FunctionPlan[];
  readonly liveGateways: readonly GatewayNode[];
  readonly faults: { readonly windowMs: number };
}

interface Call {
  readonly plan: FunctionPlan;
  readonly id: string;
  runId: string | null;
  /** Requests for it that a gateway may still carry out. */
  underWay: number;
  isAnswered: boolean;
}

const AGAIN_MS = 1_500;
const MOST_CALLS = 5;

export class Callers {
  readonly #world: CallersWorld;
  readonly #dice: Dice;
  readonly #actor: Actor;
  readonly #calls: Call[] = [];

  constructor(world: CallersWorld, dice: Dice) {
    this.#world = world;
    this.#dice = dice;
    const { scheduler } = world.network;
    this.#actor = new Actor(scheduler, "caller", dice.fork());
    for (let count = dice.between(1, MOST_CALLS); count > 0; count -= 1) {
      const call: Call = {
        plan: dice.pick(world.functions),
        id: `call-${count}`,
        runId: null,
        underWay: 0,
        isAnswered: false,
      };
      this.#calls.push(call);
      scheduler.at(dice.within(0, world.faults.windowMs), null, () => this.#invoke(call));
    }
  }

  get isDone(): boolean {
    return this.#calls.every(({ isAnswered }) => isAnswered);
  }

  /** A caller asks for this run again, as far as is known, or did: what is late may come after its answer. */
  mayRepeat(runId: string): boolean {
    const head = this.#world.tables.runs.get(runId)?.head;
    if (head?.eventName !== "inngest/function.invoked") return false;
    const call = this.#calls.find((one) => one.runId === runId);
    return call ? call.underWay > 0 : this.#calls.some((one) => one.runId === null);
  }

  /** At the end of the schedule: one run of each. `made` = those that nobody but a caller can have made. */
  check(made: readonly string[]): void {
    const { oracle } = this.#world;
    const open = this.#calls.find(({ isAnswered }) => !isAnswered);
    if (open)
      return oracle.fail("S56", `The caller of ${open.plan.id} (${open.id}), run ${open.runId}, has no answer.`);
    const called = this.#calls.map(({ runId }) => runId);
    if (made.length !== called.length || called.some((runId) => !made.includes(runId ?? "")))
      oracle.fail(
        "S56",
        `${called.length} calls (${called.join(", ")}) made ${made.length} runs (${made.join(", ")}).`,
      );
  }

  /** Until some gateway has said which run it is. */
  #invoke(call: Call): void {
    const { plan, id } = call;
    if (call.runId !== null) return;
    const { scheduler } = this.#world.network;
    scheduler.after(AGAIN_MS, null, () => this.#invoke(call));
    const isSent = this.#ask(
      async ({ core }) => {
        const invocation = {
          environment: plan.environment,
          function: plainName(slugOf(plan)),
          id,
          data: { from: "a client" },
        };
        const outcome = await core.dispatcher.invoke(invocation).finally(() => {
          call.underWay -= 1;
        });
        return outcome.outcome === "started" ? outcome.runId : null;
      },
      (runId) => {
        if (runId === null || call.runId === runId) return;
        if (call.runId !== null) this.#world.oracle.fail("S56", `${id} is run ${call.runId}, and run ${runId}.`);
        call.runId = runId;
        this.#wait(call, runId);
      },
      () => {},
    );
    // One that a gateway's death leaves open is counted for ever.
    if (isSent) call.underWay += 1;
  }

  #wait(call: Call, runId: string): void {
    if (call.isAnswered) return;
    const { oracle, tables } = this.#world;
    const maxMs = this.#dice.pick([0, 300, 3_000, 25_000]);
    const again = (): void => {
      this.#world.network.scheduler.after(this.#dice.within(1, 200), null, () => this.#wait(call, runId));
    };
    this.#ask(
      async (gateway) => {
        const { is } = await gateway.core.dispatcher.waitForEnd(runId, maxMs, new AbortController().signal);
        const run = tables.runs.get(runId);
        if (is === "ended" && run?.head.endedMs === null && !run.log.some(({ kind }) => kind === "RUN_REVIVED"))
          oracle.fail(
            "S56",
            `The caller of ${call.id} is told that run ${runId} has ended, which is ${run.head.status}.`,
          );
        if (is === "gone" && run) oracle.fail("S56", `The caller of ${call.id} is told that run ${runId} is gone.`);
        return is;
      },
      (is) => {
        if (is === "late") again();
        else call.isAnswered = true;
      },
      again,
    );
  }

  /** One request over the network: answered, or failed, once. False: it reaches no gateway. */
  #ask<T>(request: (gateway: GatewayNode) => Promise<T>, answered: (value: T) => void, failed: () => void): boolean {
    const { network, liveGateways } = this.#world;
    const { scheduler, conditions } = network;
    const dice = this.#dice;
    let isOver = false;
    const once = (act: () => void): void => {
      if (isOver) return;
      isOver = true;
      scheduler.after(dice.within(0.1, conditions.latencyMs), this.#actor, act);
    };
    const up = liveGateways.filter(({ isUp }) => isUp);
    if (up.length === 0 || dice.chance(conditions.httpFailRate / 2)) {
      once(failed);
      return false;
    }
    const gateway = dice.pick(up);
    const isAnswerLost = dice.chance(conditions.httpFailRate / 2);
    gateway.actor.onDeath(() => once(failed));
    scheduler.after(dice.within(0.1, conditions.latencyMs), gateway.actor, () => {
      const say = (act: () => void): void => {
        if (gateway.actor.acts()) once(isAnswerLost ? failed : act);
      };
      request(gateway).then(
        (value) => say(() => answered(value)),
        () => say(failed),
      );
    });
    return true;
  }
}
