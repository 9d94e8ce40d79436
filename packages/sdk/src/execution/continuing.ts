/** Whether a handler wants to go on as a new run, and returns what it got for that. One for each pass. */
import { ContinueAs, continueAsOf, notReturned } from "../steps/continue-as.ts";
import type { PassRequest } from "./execution.ts";

export class Continuing {
  readonly #request: PassRequest;
  #isAsked = false;

  constructor(request: PassRequest) {
    this.#request = request;
  }

  /** @throws HoldfastError `GATEWAY_UNSUPPORTED`, `STEP_INVALID`, `STEP_RESULT_TOO_LARGE` */
  continueAs(data: unknown): ContinueAs {
    const made = continueAsOf(data, this.#request.extensions.includes("continue"));
    this.#isAsked = true;
    return made;
  }

  /** @throws HoldfastError `STEP_INVALID` */
  check(returned: unknown): void {
    if (this.#isAsked && !ContinueAs.is(returned)) throw notReturned(this.#request.functionSlug);
  }
}
