/** Gives a run the signal that one of its steps waits for. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { post, type Trouble, troubleOf } from "../data/api.ts";
import { usePress } from "../data/press.ts";
import type { AwaitedSignal } from "../data/run-waits.ts";
import { Problem } from "../parts/notice.tsx";

export interface SignalFormProps {
  readonly awaited: AwaitedSignal;
  /** An approval of a graph: only yes and no are answers. */
  readonly isApproval: boolean;
}

export function SignalForm({ awaited: { signal, step }, isApproval }: SignalFormProps): JSX.Element {
  const [text, setText] = useState(isApproval ? '{ "approved": true }' : "{}");
  const [problem, setProblem] = useState<Trouble | null>(null);
  const press = usePress();
  const send = async (): Promise<void> => {
    const data = parsed(text);
    if (data === null) return setProblem("This is not JSON.");
    setProblem(null);
    // Once it is sent the step waits no longer, and the form goes with that.
    await post("/v1/signals", { signal, data: data.value }).catch((error: unknown) => setProblem(troubleOf(error)));
  };
  return (
    <details class="card padded signal-form">
      <summary>
        {isApproval ? "Answer" : "Send the signal for"} <bdi>{step}</bdi> …
      </summary>
      <div class="signal-body">
        <p>
          The step waits for the signal <code>{signal}</code>
          {isApproval && (
            <>
              ; <code>approved</code> says yes or no
            </>
          )}
          .
        </p>
        <label>
          Data, as JSON
          <textarea rows={4} spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <Problem trouble={problem} />
        <div class="buttons">
          <button type="button" class="primary" {...press(send)}>
            Send the signal
          </button>
        </div>
      </div>
    </details>
  );
}

function parsed(text: string): { readonly value: unknown } | null {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return null;
  }
}
