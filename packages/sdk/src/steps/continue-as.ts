/**
 * What a handler returns that goes on as a new run of its function (`continueAs`): the input of that run. `Pass` makes
 * it, and reads it when the handler has ended.
 */
import { HoldfastError } from "@holdfast/core";
import { isRecord, WIRE_LIMITS } from "@holdfast/protocol";
import { jsonCopy, whyNoCopy } from "./step-call.ts";

export class ContinueAs {
  /** The data of the new run's event, JSON text. */
  readonly #dataText: string;

  constructor(dataText: string) {
    this.#dataText = dataText;
  }

  get dataText(): string {
    return this.#dataText;
  }

  /** Touches nothing of a value of the author's: it may be a proxy whose traps throw. */
  static is(value: unknown): value is ContinueAs {
    return typeof value === "object" && value !== null && #dataText in value;
  }
}

/**
 * @throws HoldfastError `STEP_INVALID`, `STEP_RESULT_TOO_LARGE`, `GATEWAY_UNSUPPORTED`
 */
export function continueAsOf(data: unknown, isSupported: boolean): ContinueAs {
  if (!isSupported) {
    throw new HoldfastError(
      "GATEWAY_UNSUPPORTED",
      "continueAs() is not available on this gateway. Send an event that starts the function, in a step, and return: the new run then has no connection to this one.",
    );
  }
  const copy = jsonCopy(data ?? {});
  if (!isRecord(copy)) {
    const why = copy === undefined ? ` What it was given: ${whyNoCopy(data)}.` : "";
    throw new HoldfastError(
      "STEP_INVALID",
      `continueAs() needs an object that can be serialised as JSON: the new run's event.data.${why}`,
    );
  }
  const text = JSON.stringify(copy);
  const bytes = Buffer.byteLength(text);
  if (bytes <= WIRE_LIMITS.maxEventBytes) return new ContinueAs(text);
  throw new HoldfastError(
    "STEP_RESULT_TOO_LARGE",
    `continueAs() was given ${bytes} bytes; the limit is ${WIRE_LIMITS.maxEventBytes}. Keep large data elsewhere and pass its address.`,
  );
}

/** A handler that asked to continue and returned something else would end where its author meant it to go on. */
export function notReturned(functionSlug: string): HoldfastError {
  return new HoldfastError(
    "STEP_INVALID",
    `Function "${functionSlug}" called continueAs() but returned something else. Write \`return continueAs(data)\`.`,
  );
}
