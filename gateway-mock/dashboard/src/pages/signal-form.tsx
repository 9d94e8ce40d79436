/** Gives a run the signal that one of its steps waits for. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { post, type Trouble, troubleOf } from "../data/api.ts";
import { type Press, usePress } from "../data/press.ts";
import type { AwaitedSignal } from "../data/run-waits.ts";
import { Problem } from "../parts/notice.tsx";

export interface SignalFormProps {
  readonly awaited: AwaitedSignal;
  /** An approval of a graph: only yes and no are answers. */
  readonly isApproval: boolean;
}

type Send = (data: unknown) => Promise<void>;

export function SignalForm({ awaited: { signal, step }, isApproval }: SignalFormProps): JSX.Element {
  const [problem, setProblem] = useState<Trouble | null>(null);
  const press = usePress();
  const send: Send = async (data) => {
    setProblem(null);
    // Once it is sent the step waits no longer, and the form goes with that.
    await post("/v1/signals", { signal, data }).catch((error: unknown) => setProblem(troubleOf(error)));
  };
  const form = (
    <DataOfSignal
      first={isApproval ? '{ "approved": true }' : "{}"}
      press={press}
      send={send}
      onProblem={() => setProblem("This is not JSON.")}
    />
  );
  if (!isApproval) {
    return (
      <details class="card padded signal-form">
        <summary>
          Send the signal for <bdi>{step}</bdi> …
        </summary>
        <div class="signal-body">
          <p>
            The step waits for the signal <code>{signal}</code>.
          </p>
          {form}
          <Problem trouble={problem} />
        </div>
      </details>
    );
  }
  return (
    <section class="card padded signal-form" aria-label={`Answer ${step}`}>
      <div class="signal-body">
        <p>
          <strong>
            <bdi>{step}</bdi>
          </strong>{" "}
          waits for an answer.
        </p>
        <div class="buttons">
          <button type="button" class="primary" {...press(() => send({ approved: true }))}>
            Approve
          </button>
          <button type="button" {...press(() => send({ approved: false }))}>
            Reject
          </button>
        </div>
        <Problem trouble={problem} />
        <details>
          <summary>Answer with more data …</summary>
          <div class="signal-body">
            <p>
              It is sent as the signal <code>{signal}</code>; <code>approved</code> says yes or no, the next nodes see
              the rest.
            </p>
            {form}
          </div>
        </details>
      </div>
    </section>
  );
}

interface DataProps {
  readonly first: string;
  readonly press: Press;
  readonly send: Send;
  readonly onProblem: () => void;
}

function DataOfSignal({ first, press, send, onProblem }: DataProps): JSX.Element {
  const [text, setText] = useState(first);
  const sendText = async (): Promise<void> => {
    const data = parsed(text);
    if (data === null) return onProblem();
    await send(data.value);
  };
  return (
    <>
      <label>
        Data, as JSON
        <textarea rows={4} spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <div class="buttons">
        <button type="button" class="primary" {...press(sendText)}>
          Send the signal
        </button>
      </div>
    </>
  );
}

function parsed(text: string): { readonly value: unknown } | null {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return null;
  }
}
