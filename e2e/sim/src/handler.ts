/**
 * Makes a real function of the SDK out of a plan: its handler plays the program (`programs.ts`) and records what it
 * does.
 */
import type { Holdfast } from "../../../packages/sdk/src/app/holdfast.ts";
import { currentExecution } from "../../../packages/sdk/src/execution/current.ts";
import type { HoldfastFunction } from "../../../packages/sdk/src/functions/define-function.ts";
import { NonRetriableError } from "../../../packages/sdk/src/steps/errors.ts";
import { stepSignal } from "../../../packages/sdk/src/steps/step-signal.ts";
import type { SimBodyPool } from "./body-pool.ts";
import type { Awaited } from "./clients.ts";
import { type Asked, NOTHING_GIVEN, type Oracle } from "./oracle.ts";
import { CRON_EVERY_MS, optionsOf } from "./planned-options.ts";
import { type FunctionPlan, type Place, play, rootKey, type Stage } from "./programs.ts";
import type { Actor } from "./scheduler.ts";

const CRON = `*/${CRON_EVERY_MS / 1000} * * * * *`;

/** Where a handler runs. */
interface HandlerWorld {
  readonly main: Actor;
  readonly oracle: Oracle;
  /** A run waits for what someone outside has to send. */
  hears(awaited: Awaited): void;
  /** Where bodies run that are isolated; absent: in this thread. */
  readonly bodies?: SimBodyPool | null;
}

/** How the bodies of one pass begin, and what its code had been given when it asked for them. */
function bodiesOf(runId: string, main: Actor, oracle: Oracle): Pick<Stage, "begin" | "asks" | "undo" | "won"> {
  const seen = new Set<string>();
  const races = new Map<string, number>();
  const undone = new Set<string>();
  const begin = (key: string, asked: Asked = NOTHING_GIVEN, place: Pick<Place, "acts"> = main): number =>
    place.acts() ? oracle.begin(runId, key, asked) : 0;
  return {
    begin,
    asks: async (ask) => {
      const asked: Asked = { ahead: oracle.asks(runId, seen), races: new Map(races) };
      let hash: string | undefined;
      try {
        return await ask((key, place) => {
          hash = currentExecution()?.step?.hash;
          return begin(key, asked, place);
        });
      } finally {
        if (hash !== undefined) {
          seen.add(hash);
          oracle.gives(runId, hash);
        }
      }
    },
    undo: (key) => {
      begin(key, { ahead: [...undone], races: new Map() });
      const hash = currentExecution()?.step?.hash;
      if (hash !== undefined) undone.add(hash);
    },
    won: (key, part) => void races.set(key, part),
  };
}

/** The function of the app that plays a plan. `before` = those that it may invoke. */
export function defineFunction(
  client: Holdfast,
  plan: FunctionPlan,
  before: readonly HoldfastFunction[],
  { main, oracle, hears, bodies }: HandlerWorld,
): HoldfastFunction {
  const wait = (ms: number): Promise<void> =>
    new Promise((resolve) => void main.timers.set(ms, resolve, { unref: true }));
  const triggers = [
    { event: `sim/${plan.id}` },
    ...(plan.options.flowControl.type === "cron" ? [{ cron: CRON }] : []),
    ...(plan.hearsOfFailures ? [{ event: "inngest/function.failed" }] : []),
  ];
  const { id, retries, queue } = plan;
  const options = { id, triggers, retries, queue, ...optionsOf(plan.options) } as const;
  return client.createFunction(options as never, async ({ step, runId, event, attempt, continueAs }) => {
    const { environment } = plan;
    // Those of two environments wait for one name, and are told different things.
    const { tag, link = 0 } = event.data as { readonly tag?: string; readonly link?: number };
    const about = tag === undefined ? runId : link === 0 ? tag : `${tag}-${link}`;
    const stage: Stage = {
      step: step as Stage["step"],
      runId,
      invoke: (id, of) => step.invoke(id, { function: before[of] as HoldfastFunction, data: { from: "a client" } }),
      hears: (by, key) => {
        const name = `${about} ${key.slice(environment.length)}`;
        const says = `${name} of ${environment}`;
        hears({ by, runId, name, says, environment });
        return { name, says };
      },
      ...bodiesOf(runId, main, oracle),
      acts: () => main.acts(),
      isolate: bodies ? (key, body) => bodies.call(key, body) : undefined,
      unwanted: () => {
        const signal = stepSignal();
        return new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve());
          if (signal.aborted) resolve();
        });
      },
      work: wait,
      block: (ms) => {
        main.freeze(ms);
        return wait(1);
      },
    };
    const { stumblesMs } = plan;
    const stumbles = async (): Promise<never> => {
      await wait(stumblesMs ?? 0);
      throw new Error(`${plan.id} stumbles`);
    };
    const played = play(plan.root, stage, "p", rootKey(plan));
    const value = await (stumblesMs === null || attempt > 0 ? played : Promise.race([played, stumbles()]));
    if (plan.thinksMs > 0) await wait(plan.thinksMs);
    if (link < plan.continues) return continueAs({ ...(event.data as object), link: link + 1 } as never);
    if (plan.fails) throw new NonRetriableError(`${plan.id} fails`);
    return value;
  });
}
