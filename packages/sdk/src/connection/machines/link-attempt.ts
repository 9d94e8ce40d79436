/**
 * Half of the link machine: everything on the way to the next connection. What the connection does once it is there is
 * in `link-machine.ts`, with the invariants of both.
 */
import type { Next } from "@holdfast/core";
import type { ConnectionReady } from "@holdfast/protocol";
import { type HandshakeEvent, type Refusal, stepHandshake } from "./handshake-machine.ts";
import type { ActiveLink, Attempt, LinkEffect, LinkEvent, LinkMemory, LinkRules, LinkState } from "./link-types.ts";

type Open = Extract<LinkState, { phase: "open" }>;
type Opening = Extract<Attempt, { step: "opening" }>;

const MAX_EXCLUDED = 20;
/** A refusal that a retry hardly changes is retried as rarely as the policy allows. */
const PERMANENT_FAILURES = 16;

/** Asks for an endpoint now. */
export function beginAttempt(state: Open): Next<LinkState, LinkEffect> {
  const { memory } = state;
  const generation = memory.generation + 1;
  return [
    { ...state, attempt: { step: "starting", generation, key: memory.key }, memory: { ...memory, generation } },
    [{ do: "START", generation, key: memory.key, excludeGroups: memory.excluded }],
  ];
}

/** Goes for another connection because `lost` ended or is about to. */
export function reconnect(state: Open, lost: ActiveLink): Next<LinkState, LinkEffect> {
  const failures = lost.steady ? 1 : state.memory.failures + 1;
  const memory = exclude({ ...state.memory, failures }, lost.group);
  return state.attempt.step === "none" ? wait({ ...state, memory }) : [{ ...state, memory }, []];
}

export function onStartFailed(
  state: Open,
  event: Extract<LinkEvent, { type: "START_FAILED" }>,
  rules: LinkRules,
): Next<LinkState, LinkEffect> {
  const { attempt, memory } = state;
  if (attempt.step !== "starting" || attempt.generation !== event.generation) return [state, []];
  const [{ message }, code] = [event, "CONNECT_REFUSED" as const];
  if (!event.unauthorized) {
    return retry({ ...state, memory: failed(memory) }, { message, permanent: false, code }, event.retryAfterMs);
  }
  const refusedKeys = memory.refusedKeys + 1;
  if (rules.hasFallbackKey && refusedKeys === 1) {
    const key = attempt.key === "primary" ? "fallback" : "primary";
    const [next, effects] = beginAttempt({ ...state, memory: { ...memory, key, refusedKeys } });
    const tried = `The gateway rejected the ${attempt.key} signing key; trying the ${key} one.`;
    return [next, [{ do: "LOG", level: "warn", code: "UNAUTHORIZED", message: tried }, ...effects]];
  }
  return retry({ ...state, memory: { ...failed(memory), refusedKeys: 0 } }, { message, permanent: true, code });
}

export function onAttemptFrame(
  state: Open,
  attempt: Opening,
  event: HandshakeEvent,
  rules: LinkRules,
  becomeActive: (state: Open, generation: number, ready: ConnectionReady) => Next<LinkState, LinkEffect>,
): Next<LinkState, LinkEffect> {
  const { generation, start } = attempt;
  const [handshake, effects] = stepHandshake(attempt.handshake, event, rules.required);
  const next: Open = { ...state, attempt: { ...attempt, handshake } };
  const effect = effects[0];
  if (effect === undefined) return [next, []];
  switch (effect.do) {
    case "SEND_CONNECT":
      return [next, [{ do: "SEND_CONNECT", generation, start }]];
    case "BECOME_READY":
      return becomeActive(next, generation, effect.ready);
    case "GIVE_UP": {
      const [ended, endings] = failAttempt(next, "UNEXPECTED");
      const memory = exclude(failed(ended.memory), start.gatewayGroup);
      const [after, then] = retry({ ...ended, memory }, effect);
      return [after, [...endings, ...then]];
    }
  }
}

/** Leaves the attempt, whatever it was at. */
export function failAttempt(state: Open, reason = "WORKER_SHUTDOWN"): readonly [Open, readonly LinkEffect[]] {
  const { attempt } = state;
  const none: Open = { ...state, attempt: { step: "none" } };
  switch (attempt.step) {
    case "none":
      return [none, []];
    case "waiting":
      return [none, [{ do: "CANCEL_TIMERS", generation: attempt.generation }]];
    case "starting":
      return [none, [{ do: "ABORT_START", generation: attempt.generation }]];
    case "opening":
      return [
        none,
        [
          { do: "CANCEL_TIMERS", generation: attempt.generation },
          {
            do: "CLOSE_SOCKET",
            generation: attempt.generation,
            code: reason === "UNEXPECTED" ? 4001 : 1000,
            reason,
          },
        ],
      ];
  }
}

function retry(state: Open, { message, permanent, code }: Refusal, atLeastMs?: number): Next<LinkState, LinkEffect> {
  if (permanent && !state.memory.everReady) {
    return [
      { phase: "closed" },
      [
        ...(state.active ? ([{ do: "DESTROY_SOCKET", generation: state.active.generation }] as const) : []),
        { do: "REFUSED", code, message },
        { do: "STATE_CHANGED" },
      ],
    ];
  }
  const failures = permanent ? Math.max(state.memory.failures, PERMANENT_FAILURES) : state.memory.failures;
  const [next, effects] = wait({ ...state, memory: { ...state.memory, failures, problem: message } }, atLeastMs);
  const level = message !== state.memory.problem || isPowerOfTwo(failures) ? "warn" : "debug";
  const log: LinkEffect = permanent
    ? { do: "LOG", level: "error", code, message }
    : { do: "LOG", level, code: "CONNECTION_LOST", message: `No connection yet: ${message}` };
  return [next, [log, ...effects, { do: "STATE_CHANGED" }]];
}

/** What goes on failing for the same reason is said ever more rarely. */
const isPowerOfTwo = (count: number): boolean => (count & (count - 1)) === 0;

function wait(state: Open, atLeastMs?: number): Next<LinkState, LinkEffect> {
  const generation = state.memory.generation + 1;
  const { failures } = state.memory;
  return [
    { ...state, attempt: { step: "waiting", generation }, memory: { ...state.memory, generation } },
    [{ do: "WAIT", generation, failures, ...(atLeastMs === undefined ? {} : { atLeastMs }) }],
  ];
}

function failed(memory: LinkMemory): LinkMemory {
  return { ...memory, failures: memory.failures + 1 };
}

function exclude(memory: LinkMemory, group: string): LinkMemory {
  if (group === "") return memory;
  return { ...memory, excluded: [...memory.excluded.filter((known) => known !== group), group].slice(-MAX_EXCLUDED) };
}
