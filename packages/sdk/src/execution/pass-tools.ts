/**
 * The step tools that the handler of a pass is called with: its calls go to the pass, and names of events that are
 * probably misspelt are hinted at once.
 */
import type { StandardSchema } from "../events/standard-schema.ts";
import type { AppClient } from "../functions/app-client.ts";
import { hintOnce, nameHint } from "../functions/name-hints.ts";
import { schemaFor } from "../functions/registry.ts";
import type { StepHost } from "../steps/step-call.ts";
import { createStepTools, type StepToolsDeps } from "../steps/step-tools.ts";
import type { StepTools } from "../steps/step-types.ts";
import { warnOfLossInData } from "./lossy-results.ts";
import type { PassOptions } from "./pass-options.ts";

/** What the handler of a pass calls steps with; `host` is given each of them. */
export function stepToolsOf(options: PassOptions, host: StepHost): StepTools {
  return createStepTools(new PassToolsDeps(options, host));
}

class PassToolsDeps implements StepToolsDeps {
  readonly host: StepHost;
  readonly #options: PassOptions;

  constructor(options: PassOptions, host: StepHost) {
    this.#options = options;
    this.host = host;
  }

  get runId(): string {
    return this.#options.request.runId;
  }

  get exact(): boolean {
    return this.#options.mode.type === "in-place";
  }

  get looksBack(): boolean {
    return this.#options.request.extensions.includes("since");
  }

  get client(): AppClient {
    return this.#options.fn.client;
  }

  onData(id: unknown, data: unknown): void {
    const { fn, log } = this.#options;
    warnOfLossInData(log, `step "${String(id)}" of function "${fn.slug}"`, data);
  }

  schemaOf(eventName: string, isDeclared: boolean): StandardSchema | undefined {
    const { fn, log } = this.#options;
    const { client, slug } = fn;
    const schema = schemaFor(fn, eventName);
    if (schema !== undefined || isDeclared) return schema;
    const hint = (): string | undefined => nameHint(client.schemas, eventName, `\`waitForEvent\` of "${slug}"`);
    if (client.schemas !== undefined) hintOnce(client, `${slug} ${eventName}`, hint, log);
    return undefined;
  }
}
