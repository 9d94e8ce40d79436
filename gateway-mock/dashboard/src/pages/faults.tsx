/** What goes wrong on request: faults that are there, asking for one, and what they have done. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call, mayChange, session, type Trouble, troubleOf } from "../data/api.ts";
import { countOf, countText } from "../data/format.ts";
import { usePolled } from "../data/polled.ts";
import { Problem } from "../parts/notice.tsx";
import { Ago } from "../parts/time.tsx";
import { Words } from "../parts/words.tsx";
import { FaultForm, type FaultKind } from "./faults-form.tsx";

interface Fault {
  readonly id: string;
  readonly what: string;
  readonly where: Readonly<Record<string, unknown>>;
  readonly addedMs: number;
  readonly fits: number;
  readonly happened: number;
  readonly isOver: boolean;
  readonly seed: number;
  readonly count: number | null;
  readonly probability: number;
}

interface Happened {
  readonly sequence: number;
  readonly atMs: number;
  readonly faultId: string;
  readonly text: string;
  readonly functionId: string | null;
  readonly runId: string | null;
}

interface Listed {
  readonly faults: readonly Fault[];
  readonly kinds: readonly FaultKind[];
}

const EVERY = { everyMs: 1_000, withRuns: false } as const;

export function Faults(): JSX.Element {
  const why = session.value?.noFaults ?? null;
  return why === null ? <Offered /> : <Refused why={why} />;
}

/** Nothing is asked of a gateway that refuses all of it. */
function Refused({ why }: { readonly why: string }): JSX.Element {
  return (
    <>
      <h1>Faults</h1>
      <div class="empty">
        <h2>No faults here</h2>
        <p>
          <Words text={why} />
        </p>
        <pre>holdfast-gateway dev</pre>
      </div>
    </>
  );
}

function Offered(): JSX.Element {
  const listed = usePolled<Listed>("/v1/faults", EVERY);
  const history = usePolled<{ readonly history: readonly Happened[] }>("/v1/faults/history?limit=100", EVERY);
  const [problem, setProblem] = useState<Trouble | null>(null);
  const change = (method: string, path: string): void => {
    setProblem(null);
    call(method, path).then(listed.again, (error: unknown) => setProblem(troubleOf(error)));
  };
  const { value } = listed;
  return (
    <>
      <div class="page-head">
        <h1>Faults</h1>
        {value && value.faults.length > 0 && mayChange() && (
          <button type="button" onClick={() => change("DELETE", "/v1/faults")}>
            Clear all
          </button>
        )}
      </div>
      <p class="lead">What goes wrong when it is asked for, to see what your app does. Stored steps never run again.</p>
      <Problem trouble={problem ?? listed.problem} />
      {value && mayChange() && <FaultForm kinds={value.kinds} onAdded={listed.again} />}
      {value && (
        <section aria-label="Faults that were asked for">
          <h2>{value.faults.length === 0 ? "Nothing goes wrong" : countOf(value.faults.length, "fault")}</h2>
          <ul class="plain-list">
            {value.faults.map((fault) => (
              <li key={fault.id}>
                <FaultRow fault={fault} onRemove={() => change("DELETE", `/v1/faults/${fault.id}`)} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {history.value && history.value.history.length > 0 && (
        <section aria-label="What faults have done">
          <h2>What they have done</h2>
          <ol class="fault-history">
            {history.value.history.map((one) => (
              <li key={one.sequence}>
                <span class="faint">
                  <Ago atMs={one.atMs} />
                </span>
                <span class="mono faint">{one.faultId}</span>
                <bdi>{one.text}</bdi>
                {one.runId !== null && (
                  <a href={`/ui/runs/${encodeURIComponent(one.runId)}`}>
                    <bdi>{one.functionId ?? one.runId}</bdi>
                  </a>
                )}
              </li>
            ))}
          </ol>
        </section>
      )}
    </>
  );
}

function FaultRow({ fault, onRemove }: { readonly fault: Fault; readonly onRemove: () => void }): JSX.Element {
  const { id, what, where, isOver, fits, happened, seed, count, probability, addedMs } = fault;
  const places = Object.entries(where).map(
    ([name, value]) => `${name} ${Array.isArray(value) ? value.join(", ") : String(value)}`,
  );
  return (
    <div class="fault-row" data-over={isOver ? "" : undefined}>
      <strong>{what}</strong>
      <span>
        <bdi>{places.length === 0 ? "everywhere" : places.join("; ")}</bdi>
      </span>
      <span>
        happened {countText(happened)} of {countText(fits)} times
        {count !== null && `, at most ${countText(count)}`}
        {probability < 1 && `, to ${Math.round(probability * 100)} %`}
      </span>
      <span class="faint">
        {id}, seed {seed}, <Ago atMs={addedMs} />
        {isOver && "; over"}
      </span>
      {mayChange() && (
        <button type="button" class="quiet" aria-label={`Remove ${id}`} onClick={onRemove}>
          Remove
        </button>
      )}
    </div>
  );
}
