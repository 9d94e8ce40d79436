/** Tortures a function in a test: at the gateway that its app is made for, round after round. */
import { HoldfastError } from "@holdfast/core";
import { callGateway } from "./gateway-faults.ts";

/** A function of an app, as `createFunction` returns it. */
export interface TorturedFunction {
  /** Its full name: `shop-order`. */
  readonly slug: string;
}

/** The run of a round, whose effects are to be read. */
export interface TorturedRun {
  readonly runId: string;
  readonly eventId: string;
  readonly status: string;
  /** What went wrong in its round, in words. */
  readonly round: string;
}

export interface TortureOptions {
  /** The data of the event that each run is given. Default `{}`. */
  readonly data?: unknown;
  /**
   * Reads what a run has done, as JSON: it is compared with what it does when nothing goes wrong. Without it, effects that
   * happen twice are not seen.
   */
  readonly effects?: (run: TorturedRun) => unknown;
  /** What is left to chance follows from it. Default: any, which the report says. */
  readonly seed?: number;
  /** Rounds in which everything goes wrong at random. Default 10. */
  readonly chaosRounds?: number;
  /** Only this round, to see it again; with the seed of the report. */
  readonly round?: number;
  /** How long a run may take, in milliseconds. Default 30,000. */
  readonly roundMs?: number;
  /** False: the app is connected already. Default true: it is connected, with this function alone, and closed again. */
  readonly connect?: boolean;
}

export interface TortureProblem {
  readonly kind: "STORED_STEP_RAN_AGAIN" | "NON_DETERMINISM" | "RESULT_DIFFERS" | "EFFECTS_DIFFER" | "END_DIFFERS";
  readonly round: number;
  readonly seed: number;
  readonly step: string | null;
  readonly runId: string;
  /** What was seen, and what to do about it. */
  readonly text: string;
}

export interface TortureReport {
  readonly functionId: string;
  /** Give it with a problem's `round` to see that again. */
  readonly seed: number;
  readonly rounds: number;
  /** How often bodies ran: more than once where their result had not been stored. */
  readonly steps: readonly {
    readonly step: string;
    readonly bodies: number;
    readonly roundsRepeated: number;
    readonly resultsDiffer: boolean;
  }[];
  readonly problems: readonly TortureProblem[];
  readonly notes: readonly string[];
}

interface NextRound {
  readonly round: {
    readonly runId: string;
    readonly eventId: string;
    readonly status: string;
    readonly text: string;
  } | null;
  readonly report: TortureReport | null;
}

/**
 * Runs a function again and again, and ends it before and after the commit of each of its steps, delays, duplicates and
 * reorders what its worker says, and loses answers of the database; reports what differs from a run in which nothing goes
 * wrong. The gateway is the one at its app's `baseUrl`: that of `startTestGateway()`, or a `dev` gateway of its own.
 * @example const report = await tortured(order, { data: { card: "4242" } }); expect(report.problems).toEqual([]);
 * @throws HoldfastError `OPTION_INVALID`, `OPTION_MISSING`; `FAULTS_REFUSED`; `FAULT_INVALID` when a run does not end by itself
 */
export async function tortured(fn: TorturedFunction, options: TortureOptions = {}): Promise<TortureReport> {
  const { client } = definitionOf(fn);
  const url = client.options.apiBaseUrl;
  if (url === undefined) {
    throw new HoldfastError("OPTION_MISSING", "tortured() needs a gateway: pass `baseUrl` to the function's app.");
  }
  if (options.connect === false) return torture(url, fn.slug, options);
  const connection = await client.connect({ functions: [fn], drainTimeout: CLOSE_MS });
  try {
    return await torture(url, fn.slug, options);
  } finally {
    await connection.close();
  }
}

/** A body that does not end is not waited for: the torture has said so. */
const CLOSE_MS = 1_000;

/** What the SDK keeps in a function. */
interface Definition {
  readonly client: {
    readonly options: { readonly apiBaseUrl?: string };
    connect(options: object): Promise<{ close(): Promise<void> }>;
  };
}

function definitionOf(fn: TorturedFunction): Definition {
  const definition: unknown = Object(fn)[Symbol.for("holdfast.function")];
  if (definition) return definition as Definition;
  throw new HoldfastError("OPTION_INVALID", "tortured() needs a function that `createFunction` has made.");
}

async function torture(url: string, name: string, options: TortureOptions): Promise<TortureReport> {
  const { data, seed, chaosRounds, round, roundMs, effects } = options;
  const asked = { function: name, data, seed, chaosRounds, round, roundMs };
  const { id } = (await callGateway(url, "POST", "/v1/torture", asked)) as { readonly id: string };
  let read: { readonly effects?: unknown } = {};
  for (;;) {
    const next = (await callGateway(url, "POST", `/v1/torture/${id}/next`, read)) as NextRound;
    if (next.report) return next.report;
    const { runId = "", eventId = "", status = "", text = "" } = next.round ?? {};
    read = effects ? { effects: (await effects({ runId, eventId, status, round: text })) ?? null } : {};
  }
}
