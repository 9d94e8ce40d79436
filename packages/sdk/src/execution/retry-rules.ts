/**
 * Whether an attempt that failed was the last one, and when the next one is due: by what was thrown, by `retries` and
 * `retryIf` of step and function, by how many attempts the gateway grants. One for each pass.
 */
import { type BackoffPolicy, describeValue, messageOf } from "@holdfast/core";
import { backoffOf, nextDelayMs, type RetryIf, type RetryPolicy, retryAfterText } from "../steps/retry-policy.ts";
import { reviveError } from "../steps/revive-error.ts";
import type { StepCall } from "../steps/step-call.ts";
import type { PassOptions } from "./pass-options.ts";
import type { StepRecord } from "./step-record.ts";
import type { Thrown } from "./thrown.ts";

/** What follows from a failed attempt. Without `retryAfter` the gateway chooses when it is tried again. */
export interface AfterFailure {
  readonly final: boolean;
  readonly retryAfter?: string;
  /** Of a step that has more attempts than the gateway grants the function. */
  readonly maxAttempts?: number;
}

/** What was thrown, as it was thrown where that is known. */
export interface Failure {
  readonly thrown: Thrown;
  readonly raw?: unknown;
}

const FINAL: AfterFailure = { final: true };

interface FailedCall {
  /** What was thrown says when. */
  readonly wanted?: string | undefined;
  /** Its hash; of the handler empty. */
  readonly step: string;
  readonly attempt: number;
  readonly policy?: RetryPolicy | undefined;
}

export class RetryRules {
  readonly #options: PassOptions;
  readonly #policy: RetryPolicy | undefined;
  readonly #retryIf: RetryIf | undefined;
  /** Delays exactly as they are, which only our gateway understands. */
  readonly #isExact: boolean;

  constructor(options: PassOptions) {
    const { definition, isFailureHandler } = options.fn;
    this.#options = options;
    this.#policy = isFailureHandler ? undefined : definition.retryPolicy;
    this.#retryIf = isFailureHandler ? undefined : definition.retryIf;
    this.#isExact = options.input.extended !== undefined;
  }

  /** The body of a step has thrown, or took too long. */
  ofStep({ identity, call, attempt }: StepRecord, failure: Failure): AfterFailure {
    if (failure.thrown.isFinal || this.#isLast(attempt, call.retries?.attempts)) return FINAL;
    if (!this.#mayRetry(call.retryIf ?? this.#retryIf, failure, `Step "${identity.fullId}"`)) return FINAL;
    return this.#again({ wanted: failure.thrown.retryAfter, step: identity.hash, attempt, policy: call.retries });
  }

  /** The thread that ran the body is gone, and with it what the body would have thrown. */
  ofLostBody({ identity, call, attempt }: StepRecord): AfterFailure {
    if (this.#isLast(attempt, call.retries?.attempts)) return FINAL;
    return this.#again({ step: identity.hash, attempt, policy: call.retries });
  }

  /** The handler has thrown, or the pass cannot go on. */
  ofHandler(failure: Failure): AfterFailure {
    const { thrown } = failure;
    const { attempt } = this.#options.input;
    if (this.#isLast(attempt, undefined) || thrown.isStepError || thrown.isFinal) return FINAL;
    if (!this.#mayRetry(this.#retryIf, failure, "The handler")) return FINAL;
    return this.#again({ wanted: thrown.retryAfter, step: "", attempt });
  }

  /** A call that the gateway makes, and repeats by itself, says when. */
  forGateway(hash: string, call: StepCall): StepCall {
    const backoff = call.kind === "fetch" && this.#isExact ? backoffOf(undefined, this.#policy) : undefined;
    if (backoff === undefined) return call;
    const attempts = Math.max(0, (this.#options.input.maxAttempts ?? 1) - 1);
    const retryAfter = Array.from({ length: attempts }, (_, attempt) => this.#delayText(backoff, hash, attempt));
    return { ...call, opts: { ...call.opts, retryAfter } };
  }

  /** How many attempts the step has in all; undefined = the gateway has not said how many it grants. */
  limitOf({ call }: Pick<StepRecord, "call">): number | undefined {
    return this.#limit(call.retries?.attempts);
  }

  #isLast(attempt: number, retries: number | undefined): boolean {
    return attempt + 1 >= (this.#limit(retries) ?? Number.POSITIVE_INFINITY);
  }

  #limit(retries: number | undefined): number | undefined {
    const { maxAttempts } = this.#options.input;
    if (retries === undefined) return maxAttempts;
    // Other gateways end a step by the attempts of its function, whatever it says.
    return this.#isExact ? retries + 1 : Math.min(retries + 1, maxAttempts ?? Number.POSITIVE_INFINITY);
  }

  #again({ wanted, step, attempt, policy }: FailedCall): AfterFailure {
    const backoff = wanted === undefined ? backoffOf(policy, this.#policy) : undefined;
    const retryAfter = backoff === undefined ? wanted : this.#delayText(backoff, step, attempt);
    const limit = this.#limit(policy?.attempts);
    const isMore = limit !== undefined && limit > (this.#options.input.maxAttempts ?? Number.POSITIVE_INFINITY);
    return {
      final: false,
      ...(retryAfter === undefined ? {} : { retryAfter }),
      ...(isMore ? { maxAttempts: limit } : {}),
    };
  }

  #delayText(backoff: BackoffPolicy, step: string, attempt: number): string {
    const { request, ports } = this.#options;
    const delays = ports.withoutJitter === true ? { ...backoff, jitter: 0 } : backoff;
    return retryAfterText(nextDelayMs(delays, { runId: request.runId, step, attempt }), this.#isExact);
  }

  /** A `retryIf` that does not answer decides nothing: another attempt does less harm than none. */
  #mayRetry(retryIf: RetryIf | undefined, { thrown, raw }: Failure, who: string): boolean {
    if (retryIf === undefined) return true;
    let problem: string;
    try {
      const answer: unknown = retryIf(raw instanceof Error ? raw : reviveError(thrown.error));
      if (typeof answer === "boolean") return answer;
      if (isThenable(answer)) answer.then(undefined, () => {});
      problem = `returned ${describeValue(answer)} where true or false is expected`;
    } catch (cause) {
      problem = `threw: ${messageOf(cause)}`;
    }
    const { log, request } = this.#options;
    const message = `${who} of function "${request.functionSlug}" (run ${request.runId}) failed and its retryIf ${problem}. It is retried.`;
    log("warn", message);
    return true;
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
