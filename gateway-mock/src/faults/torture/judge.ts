/** What is wrong with a round, compared with those in which nothing went wrong; and the report of all. Pure. */
import { CALM_ROUNDS, stepsOf } from "./plan.ts";
import type { PlayedRound, Problem, ProblemKind, SeenBody } from "./torture-types.ts";

type Found = Pick<Problem, "kind" | "step" | "text">;

/** The problems of the last of these rounds; the first ones are calm. */
export function problemsOf(played: readonly PlayedRound[]): Problem[] {
  const last = played.at(-1);
  if (!last) return [];
  const calm = played.slice(0, CALM_ROUNDS);
  const other = otherSteps(last);
  const found = [...ranAgain(last), ...other, ...comparedWith(calm, last, other.length > 0)];
  const { round, run } = last;
  return found.map((one) => ({ ...one, round: round.number, seed: round.seed, runId: run.runId }));
}

/** A stored step is in what its worker was sent, so its body has no reason to run. */
function ranAgain({ run }: PlayedRound): Found[] {
  const again = new Map(run.bodies.filter(({ wasStored }) => wasStored).map((body) => [body.hash, body]));
  return [...again.values()].map(({ name }) => ({
    kind: "STORED_STEP_RAN_AGAIN",
    step: name,
    text: `The body of "${name}" ran again although its result was stored. This is a fault of Holdfast: please report it with the seed.`,
  }));
}

/** As workers say of a step that they were asked for and do not meet. */
const STEP_NOT_FOUND = "StepNotFoundError";

/** One place of the code met two steps: what a replay meets depends on more than what is stored. */
function otherSteps({ run }: PlayedRound): Found[] {
  const byPlace = new Map<number, Map<string, SeenBody>>();
  for (const body of run.bodies) {
    if (body.ordinal === null) continue;
    const there = byPlace.get(body.ordinal) ?? new Map<string, SeenBody>();
    byPlace.set(body.ordinal, there.set(body.hash, body));
  }
  const found = [...byPlace].flatMap(([ordinal, bodies]): Found[] => {
    if (bodies.size < 2) return [];
    const names = [...bodies.values()].map(({ name }) => `"${name}"`).join(" and ");
    return [
      nonDeterminism(
        [...bodies.values()][0]?.name ?? null,
        `At place ${ordinal + 1} of the run the code met ${names}.`,
      ),
    ];
  });
  if (found.length > 0 || !run.error) return found;
  const isSaid = run.error.code === "NON_DETERMINISM" || run.error.name === STEP_NOT_FOUND;
  return isSaid ? [nonDeterminism(null, run.error.message)] : [];
}

const nonDeterminism = (step: string | null, seen: string): Found => ({
  kind: "NON_DETERMINISM",
  step,
  text: `${seen} Steps and their ids must follow from the event and from results of steps: move what is random, or read from outside, into a step.`,
});

/** With `isExplained` it is known why it ended otherwise. */
function comparedWith(
  calm: readonly PlayedRound[],
  { round, run, effectsJson }: PlayedRound,
  isExplained: boolean,
): Found[] {
  const [first, second] = calm;
  if (!first || !second || round.number <= CALM_ROUNDS) return [];
  const found: Found[] = [];
  const add = (kind: ProblemKind, text: string): void => void found.push({ kind, step: stepOfPlan(round.plan), text });
  if (run.status !== first.run.status && !isExplained) {
    const why = run.error ? `: ${run.error.message}` : run.waits === null ? "" : `: ${run.waits}`;
    add("END_DIFFERS", `The run is ${run.status}${why}; when nothing goes wrong it is ${first.run.status}.`);
  }
  const isOutputFixed = first.run.outputJson === second.run.outputJson;
  if (isOutputFixed && run.status === first.run.status && run.outputJson !== first.run.outputJson) {
    add(
      "RESULT_DIFFERS",
      `The run returned ${shown(run.outputJson)}; when nothing goes wrong it returns ${shown(first.run.outputJson)}. Code outside of steps runs again with every replay: keep what it computes in steps.`,
    );
  }
  const areEffectsFixed = first.effectsJson !== null && first.effectsJson === second.effectsJson;
  if (areEffectsFixed && effectsJson !== null && effectsJson !== first.effectsJson) {
    add(
      "EFFECTS_DIFFER",
      `The effects were ${shown(effectsJson)}; when nothing goes wrong they are ${shown(first.effectsJson)}. ${effectAdvice(round.plan)}`,
    );
  }
  return found;
}

/** After a commit only code outside of steps runs again; before it the body does, too. */
function effectAdvice(plan: PlayedRound["round"]["plan"]): string {
  const outside = "Code outside of steps runs again with every replay: move effects into steps.";
  const inside = "A body whose result was not stored runs again: make its effect idempotent, by a key of run and step.";
  return plan.kind === "kill" && plan.moment === "after-commit" ? outside : `${inside} ${outside}`;
}

const stepOfPlan = (plan: PlayedRound["round"]["plan"]): string | null =>
  plan.kind === "kill" ? plan.step.name : null;

const MAX_SHOWN = 200;
const shown = (json: string | null): string => {
  const text = json ?? "nothing";
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`;
};

export interface TortureReport {
  readonly functionId: string;
  readonly seed: number;
  readonly rounds: number;
  readonly steps: readonly StepReport[];
  readonly problems: readonly Problem[];
  /** What could not be looked at, and what to know beside. */
  readonly notes: readonly string[];
}

/** How often the bodies of a step ran, in the run in which they ran most. */
export interface StepReport {
  readonly step: string;
  readonly bodies: number;
  /** In how many rounds its body ran more than once, since its result had not been stored. */
  readonly roundsRepeated: number;
  /** In a run in which it ran more than once it did not give the same each time. */
  readonly resultsDiffer: boolean;
}

export function reportOf(
  about: { readonly functionId: string; readonly seed: number },
  played: readonly PlayedRound[],
  problems: readonly Problem[],
): TortureReport {
  const [first, second] = played;
  const steps = first ? stepsOf(first.run) : [];
  return {
    ...about,
    rounds: played.length,
    steps: steps.map(({ hash, name }) => stepReport(hash, name, played)),
    problems,
    notes: first && second ? notesOf(first, second) : [],
  };
}

function stepReport(hash: string, step: string, played: readonly PlayedRound[]): StepReport {
  const runs = played.map(({ run }) => run.bodies.filter((body) => body.hash === hash && !body.hasFailed));
  return {
    step,
    bodies: Math.max(0, ...runs.map(({ length }) => length)),
    roundsRepeated: runs.filter(({ length }) => length > 1).length,
    resultsDiffer: runs.some((bodies) => new Set(bodies.map(({ resultJson }) => resultJson)).size > 1),
  };
}

/** Whether what both runs have of a step is the same, so that neither end nor way can follow from a step. */
function haveSameResults(first: PlayedRound, second: PlayedRound): boolean {
  const resultsOf = ({ run }: PlayedRound): ReadonlyMap<string, string> =>
    new Map(run.bodies.map(({ hash, resultJson }) => [hash, resultJson]));
  const there = resultsOf(second);
  return [...resultsOf(first)].every(([hash, result]) => (there.get(hash) ?? result) === result);
}

function stepsOfOne(first: PlayedRound, second: PlayedRound): string[] {
  const [here, there] = [stepsOf(first.run), stepsOf(second.run)];
  const missing = (steps: typeof here, from: typeof here) =>
    steps.filter(({ hash }) => from.every((one) => one.hash !== hash)).map(({ name }) => name);
  return [...missing(here, there), ...missing(there, here)];
}

function notesOf(first: PlayedRound, second: PlayedRound): string[] {
  const notes: string[] = [];
  const areSame = haveSameResults(first, second);
  const others = areSame ? stepsOfOne(first, second) : [];
  if (others.length > 0) {
    const names = others.map((name) => `"${name}"`).join(", ");
    notes.push(
      `Not every run in which nothing goes wrong has ${names}, though other steps give the same: what decides is read outside of steps, such as the clock, a random number or the run's id. Decide by the event and by results of steps.`,
    );
  }
  if (first.run.outputJson !== second.run.outputJson) {
    const why = areSame
      ? ", though its steps give the same: part of it is computed outside of steps, such as from the clock, a random number or the run's id. Results were not compared."
      : ", so results were not compared.";
    notes.push(`What the run returns differs even when nothing goes wrong${why}`);
  }
  if (first.effectsJson === null) {
    notes.push("No effects were read, so effects that happened twice could not be seen.");
  } else if (first.effectsJson !== second.effectsJson) {
    notes.push("The effects differ even when nothing goes wrong, so they were not compared.");
  }
  if (stepsOf(first.run).length === 0) notes.push("The run has no step with a body: there was nothing to kill.");
  return notes;
}
