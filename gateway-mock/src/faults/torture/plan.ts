/** Which rounds a torture has: what follows from the run in which nothing goes wrong, and from the seed. Pure. */
import { seededRandom } from "@holdfast/core";
import type { FaultRequest } from "../rules/fault-request.ts";
import { invalid } from "../rules/read-rule.ts";
import type { NetworkTrouble, Round, RoundPlan, SeenRun, TorturedStep } from "./torture-types.ts";

/** Rounds without faults: of two, what differs by itself is known. */
export const CALM_ROUNDS = 2;
const NETWORK: readonly NetworkTrouble[] = ["delay", "duplicate", "reorder", "cut", "expire-leases", "lose-answer"];
/** A function with more steps is killed at some of them in each torture; which follows from the seed. */
const MAX_KILLED_STEPS = 50;
const MAX_SEED = 2 ** 32;

export const calmRounds = (seed: number): Round[] => roundsOf(calm(), seed, 1);

const calm = (): RoundPlan[] => Array.from({ length: CALM_ROUNDS }, () => ({ kind: "calm" }));

/** The rounds after the calm ones. The same seed and the same calm run give the same rounds. */
export function planRounds(calmRun: SeenRun, seed: number, chaosRounds: number): Round[] {
  const steps = some(stepsOf(calmRun), MAX_KILLED_STEPS, seed);
  const kills = steps.flatMap((step): RoundPlan[] => [
    { kind: "kill", step, moment: "before-commit" },
    { kind: "kill", step, moment: "after-commit" },
  ]);
  const end: RoundPlan[] = calmRun.commits > 0 ? [{ kind: "kill-end", commits: calmRun.commits }] : [];
  const network = NETWORK.map((what): RoundPlan => ({ kind: "network", what }));
  const chaos = Array.from({ length: chaosRounds }, (): RoundPlan => ({ kind: "chaos" }));
  return roundsOf([...kills, ...end, ...network, ...chaos], seed, CALM_ROUNDS + 1);
}

/** @throws HoldfastError `FAULT_INVALID` when there is no such round */
export function onlyRound(rounds: readonly Round[], number: number): Round[] {
  const found = rounds.filter((round) => round.number === number);
  if (found.length > 0) return found;
  const last = rounds.at(-1)?.number ?? CALM_ROUNDS;
  throw invalid(`There is no round ${number}: with this seed they are ${CALM_ROUNDS + 1} to ${last}.`);
}

const roundsOf = (plans: readonly RoundPlan[], seed: number, first: number): Round[] =>
  plans.map((plan, index) => ({ plan, number: first + index, seed: (seed + first + index) % MAX_SEED }));

/** Those whose bodies ran, in their order. */
export function stepsOf({ bodies }: SeenRun): TorturedStep[] {
  return [...new Map(bodies.map(({ hash, name }) => [hash, { hash, name }])).values()];
}

function some<T>(all: readonly T[], most: number, seed: number): readonly T[] {
  if (all.length <= most) return all;
  const random = seededRandom(seed);
  const drawn = all.map((one, index) => ({ one, index, draw: random() })).sort((a, b) => a.draw - b.draw);
  return drawn
    .slice(0, most)
    .sort((a, b) => a.index - b.index)
    .map(({ one }) => one);
}

/** Seeds have no sign, results of `^` have one. */
const other = (seed: number, number: number): number => (seed ^ number) >>> 0;

/** What goes wrong in a round. Cuts of connections are for the whole worker, all else for the function. */
export function faultsOfRound({ plan, seed }: Round, functionId: string): FaultRequest[] {
  const where = { function: functionId };
  switch (plan.kind) {
    case "calm":
      return [];
    case "kill":
      return [{ what: "kill", moment: plan.moment, where: { ...where, step: plan.step.hash }, count: 1, seed }];
    case "kill-end":
      return [{ what: "kill", moment: "before-commit", where, after: plan.commits - 1, count: 1, seed }];
    case "network":
      return [networkFault(plan.what, where, seed)];
    case "chaos":
      return [
        { what: "kill", moment: "before-commit", where, probability: 0.25, count: 3, seed },
        { what: "kill", moment: "after-commit", where, probability: 0.25, count: 3, seed: other(seed, 1) },
        { what: "duplicate", where, probability: 0.3, seed: other(seed, 2) },
        { what: "delay", where, probability: 0.5, delayMs: 0, jitterMs: 20, seed: other(seed, 3) },
        { what: "lose-answer", where: { operation: "commit" }, probability: 0.1, count: 1, seed: other(seed, 4) },
      ];
  }
}

function networkFault(what: NetworkTrouble, where: { readonly function: string }, seed: number): FaultRequest {
  switch (what) {
    case "delay":
      return { what, where, delayMs: 10, jitterMs: 40, seed };
    case "duplicate":
      return { what, where, copies: 1, seed };
    case "reorder":
      return { what, where, delayMs: 50, probability: 0.5, seed };
    case "cut":
      return {
        what,
        where: { ...where, kind: ["WORKER_CHECKPOINT", "WORKER_REPLY"] },
        probability: 0.5,
        count: 1,
        seed,
      };
    case "expire-leases":
      return { what, where, count: 2, fromMs: 20, everyMs: 30, seed };
    case "lose-answer":
      return { what, where: { operation: "commit" }, probability: 0.5, count: 2, seed };
  }
}

/** In words. */
export function roundText({ plan }: Round): string {
  switch (plan.kind) {
    case "calm":
      return "nothing goes wrong";
    case "kill":
      return `killed ${plan.moment === "before-commit" ? "before" : "after"} the commit of ${plan.step.name}`;
    case "kill-end":
      return "killed before its last commit";
    case "network":
      return NETWORK_TEXTS[plan.what];
    case "chaos":
      return "killed, delayed, duplicated and refused at random";
  }
}

const NETWORK_TEXTS: Readonly<Record<NetworkTrouble, string>> = {
  delay: "every frame is delayed",
  duplicate: "every frame comes twice",
  reorder: "frames overtake each other",
  cut: "the connection is reset",
  "expire-leases": "the leases end early",
  "lose-answer": "answers of the database are lost",
};
