/** The log of a run, as it is stored. */
import type { JSX } from "preact";
import { countOf, durationText } from "../data/format.ts";
import type { RunDetail } from "../data/types.ts";

const MAX_SHOWN = 500;
const MAX_DATA = 300;

export function RunFacts({ run }: { readonly run: RunDetail }): JSX.Element {
  const log = run.log ?? [];
  const names = new Map(run.steps.map(({ id, name }) => [id, name ?? id]));
  return (
    <details class="log">
      <summary>Log, {countOf(log.length, "fact")}</summary>
      <div class="table-scroll" tabIndex={0} role="group" aria-label="Log">
        <table>
          <thead>
            <tr>
              <th scope="col">After</th>
              <th scope="col">Fact</th>
              <th scope="col">Step</th>
              <th scope="col">Data</th>
            </tr>
          </thead>
          <tbody>
            {log.slice(0, MAX_SHOWN).map((fact, index) => (
              <tr key={index.toString()}>
                <td class="number">{durationText(fact.atMs - run.createdMs)}</td>
                <td>
                  <code>{fact.kind}</code>
                  {fact.attempt > 0 && ` ${fact.attempt}`}
                </td>
                <td>
                  <bdi>{names.get(fact.key) ?? ""}</bdi>
                </td>
                <td class="data">
                  <code>{(JSON.stringify(fact.data) ?? "").slice(0, MAX_DATA)}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {log.length > MAX_SHOWN && <p class="lead">The export has the other {log.length - MAX_SHOWN}.</p>}
    </details>
  );
}
