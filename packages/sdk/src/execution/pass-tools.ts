/**
 * The step tools that the handler of a pass is called with: what its calls find is handed on, and names of events that
 * are probably misspelt are hinted at once.
 */
import { hintOnce, nameHint } from "../functions/name-hints.ts";
import { schemaFor } from "../functions/registry.ts";
import type { StepCall } from "../steps/step-call.ts";
import { createStepTools } from "../steps/step-tools.ts";
import type { StepTools } from "../steps/step-types.ts";
import type { Continuing } from "./continuing.ts";
import type { PassHandler, PassOptions } from "./pass-options.ts";
import type { ReplayWatch } from "./replay-watch.ts";

/** What the handler of a pass calls steps with; `find` is given each of them. */
export function stepToolsOf(
  { request, fn, mode, log }: PassOptions,
  find: (call: StepCall) => Promise<unknown>,
): StepTools {
  return createStepTools({
    find,
    runId: request.runId,
    exact: mode.type === "in-place",
    looksBack: request.extensions.includes("since"),
    client: fn.client,
    schemaOf: (eventName, isDeclared) => {
      const schema = schemaFor(fn, eventName);
      if (schema !== undefined || isDeclared) return schema;
      const { client, slug } = fn;
      const hint = (): string | undefined => nameHint(client.schemas, eventName, `\`waitForEvent\` of "${slug}"`);
      if (client.schemas !== undefined) hintOnce(client, `${slug} ${eventName}`, hint, log);
      return undefined;
    },
  });
}

/** What the handler itself is called with. */
export function handlerTools(
  step: StepTools,
  signal: () => AbortSignal,
  replay: ReplayWatch,
  { continueAs }: Continuing,
): Parameters<PassHandler>[0] {
  return { step, signal, isReplaying: () => replay.isReplaying, continueAs };
}
