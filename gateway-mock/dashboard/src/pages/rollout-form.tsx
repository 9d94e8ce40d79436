/** The versions of a function's app, and how many of its new runs begin with which. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call, mayChange, type Trouble, troubleOf } from "../data/api.ts";
import { usePolled } from "../data/polled.ts";
import type { FunctionDetail } from "../data/types.ts";
import { Problem } from "../parts/notice.tsx";
import { Ago } from "../parts/time.tsx";

interface Rollout {
  readonly rollout: { readonly version: string; readonly percent: number; readonly sinceMs: number } | null;
}

export function RolloutForm({ fn }: { readonly fn: FunctionDetail }): JSX.Element {
  const path = `/v1/apps/${encodeURIComponent(fn.appId)}/rollout`;
  const { value, again } = usePolled<Rollout>(path, { everyMs: 5_000, withRuns: false });
  const [problem, setProblem] = useState<Trouble | null>(null);
  const rollout = value?.rollout ?? null;
  const change = (method: "PUT" | "DELETE", body?: object): void => {
    setProblem(null);
    call(method, path, body ? { body } : {}).then(again, (error: unknown) => setProblem(troubleOf(error)));
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    change("PUT", { version: String(form.get("version")), percent: Number(form.get("percent")) });
  };
  return (
    <>
      <ol class="versions">
        {fn.versions.map((version, index) => (
          <li key={version}>
            <bdi class="mono">{version === "" ? "without a name" : version}</bdi>
            {index === 0 && <span class="badge">newest</span>}
            {rollout?.version === version && <span class="badge wait">{rollout.percent} % of new runs</span>}
          </li>
        ))}
      </ol>
      {rollout && (
        <p class="notice">
          Since <Ago atMs={rollout.sinceMs} /> {rollout.percent} % of the new runs of the app begin with{" "}
          <bdi class="mono">{rollout.version}</bdi>, the others with the newest other one.
        </p>
      )}
      <Problem trouble={problem} />
      {mayChange() && fn.versions.length > 1 && (
        <form class="fields rollout" onSubmit={submit}>
          <label>
            Version
            <select name="version">
              {fn.versions.map((version) => (
                <option key={version} value={version}>
                  {version === "" ? "without a name" : version}
                </option>
              ))}
            </select>
          </label>
          <label>
            Of 100 new runs
            <input name="percent" type="number" min="0" max="100" step="any" required defaultValue="10" />
          </label>
          <button type="submit">Set</button>
          {rollout && (
            <button type="button" onClick={() => change("DELETE")}>
              End the rollout
            </button>
          )}
        </form>
      )}
      {fn.versions.length < 2 && <p class="lead">With a second version, a part of the new runs can begin with it.</p>}
    </>
  );
}
