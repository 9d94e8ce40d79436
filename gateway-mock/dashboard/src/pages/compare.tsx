/** Two runs beside each other, from the first step in which they differ. */
import type { JSX } from "preact";
import { type ComparedStep, compareRuns, type Verdict } from "../data/compare.ts";
import { navigate, query } from "../data/router.ts";
import { type RunState, useRun } from "../data/run-state.ts";
import type { RunDetail, Step } from "../data/types.ts";
import { ErrorView } from "../parts/error-view.tsx";
import { JsonView } from "../parts/json-view.tsx";
import { Problem } from "../parts/notice.tsx";
import { StatusMark } from "../parts/status.tsx";

const VERDICTS: Readonly<Record<Verdict, string>> = {
  same: "the same",
  differs: "differs",
  "only-a": "only in the first",
  "only-b": "only in the second",
};

export function Compare(): JSX.Element {
  const a = query.value.get("a") ?? "";
  const b = query.value.get("b") ?? "";
  return (
    <>
      <h1>Compare two runs</h1>
      <form class="fields compare-ids" onSubmit={choose}>
        <label>
          First run
          <input key={a} name="a" defaultValue={a} spellcheck={false} required />
        </label>
        <label>
          Second run
          <input key={b} name="b" defaultValue={b} spellcheck={false} required />
        </label>
        <button type="submit">Compare</button>
      </form>
      {a !== "" && b !== "" && <Both key={`${a} ${b}`} a={a} b={b} />}
    </>
  );
}

function choose(event: SubmitEvent): void {
  event.preventDefault();
  const form = new FormData(event.currentTarget as HTMLFormElement);
  const ids = ["a", "b"].map((name) => `${name}=${encodeURIComponent(String(form.get(name) ?? "").trim())}`);
  navigate(`/ui/compare?${ids.join("&")}`);
}

function Both({ a, b }: { readonly a: string; readonly b: string }): JSX.Element {
  const first = useRun(a);
  const second = useRun(b);
  const problem = first.problem ?? second.problem;
  if (problem !== null) return <Problem trouble={problem} />;
  if (first.run === null || second.run === null) return <p class="lead">Asking the gateway for both runs …</p>;
  return <Compared a={first.run} b={second.run} />;
}

function Compared({ a, b }: { readonly a: RunDetail; readonly b: RunDetail }): JSX.Element {
  const { sameInput, sameEnd, steps, first } = compareRuns(a, b);
  const divergence = steps[first];
  return (
    <>
      <div class="pair">
        <Card run={a} />
        <Card run={b} />
      </div>
      <p class={divergence === undefined && sameEnd ? "notice ok" : "notice"}>
        {sameInput ? "Their input is the same. " : "Their input differs. "}
        {divergence === undefined
          ? sameEnd
            ? "All steps gave the same, and so did the runs."
            : "All steps gave the same, but the runs ended differently."
          : `They part at “${divergence.name}”: ${VERDICTS[divergence.verdict]}.`}
      </p>
      <ol class="steps">
        {steps.map((step, index) => (
          <li key={(step.a ?? step.b)?.id}>
            <details class="step" open={index === first}>
              <summary>
                <span class={`step-mark verdict ${step.verdict}`} />
                <span class="step-name">
                  <bdi>{step.name}</bdi>
                </span>
                <span class="step-note">{VERDICTS[step.verdict]}</span>
              </summary>
              <Sides step={step} />
            </details>
          </li>
        ))}
      </ol>
    </>
  );
}

function Card({ run }: { readonly run: NonNullable<RunState["run"]> }): JSX.Element {
  return (
    <p class="card padded">
      <StatusMark status={run.status} /> <bdi>{run.functionId}</bdi>{" "}
      <a class="mono" href={`/ui/runs/${encodeURIComponent(run.id)}`}>
        {run.id}
      </a>
    </p>
  );
}

function Sides({ step }: { readonly step: ComparedStep }): JSX.Element {
  return (
    <div class="step-body">
      <div class="pair">
        <Side step={step.a} label="first run" />
        <Side step={step.b} label="second run" />
      </div>
    </div>
  );
}

function Side({ step, label }: { readonly step: Step | null; readonly label: string }): JSX.Element {
  if (step === null) return <p class="lead">It has no such step.</p>;
  if (step.error !== undefined) return <ErrorView error={step.error} />;
  if (step.output === undefined) return <p class="lead">It is {step.status}.</p>;
  return <JsonView value={step.output} label={`${step.name ?? step.id} of the ${label}`} />;
}
