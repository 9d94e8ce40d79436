/** What a run was given: its event, or the input of its graph. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { inputOfRun, isOfGraph } from "../data/graphs.ts";
import type { RunDetail } from "../data/types.ts";
import { JsonView } from "../parts/json-view.tsx";

export function RunInput({ run }: { readonly run: RunDetail }): JSX.Element {
  const isGraph = isOfGraph(run.eventName);
  const input = inputOfRun(run.event);
  return (
    <section aria-labelledby="input">
      <h2 id="input">Input</h2>
      {!isGraph && <JsonView value={run.event} label="input" />}
      {isGraph && input === undefined && <p class="lead">The graph was started without an input.</p>}
      {isGraph && input !== undefined && <JsonView value={input} label="input" />}
      {isGraph && <WholeEvent event={run.event} />}
    </section>
  );
}

/** With the definition of the graph, which may be long: it is not written out before it is wanted. */
function WholeEvent({ event }: { readonly event: unknown }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="log" onToggle={(toggled) => setOpen(toggled.currentTarget.open)}>
      <summary>The whole event, with the definition of the graph</summary>
      {isOpen && <JsonView value={event} label="event" />}
    </details>
  );
}
