/**
 * Snapshots that were checked and planned in this process, by their text: a thousand runs of one version cost one check,
 * and so does a run that is replayed a thousand times. What differs in a single character is checked anew.
 */

import { type GraphSnapshot, readSnapshot } from "../definition/snapshot.ts";
import type { ValidateOptions } from "../definition/validate-graph.ts";
import type { GraphRunOptions } from "../interpret/run-types.ts";
import { isObject, own } from "../json/json-size.ts";

/** What runs of one snapshot share. Nothing of it is changed by a run. */
export type Prepared = Pick<Required<GraphSnapshot>, "graph" | "graphs"> & Required<Pick<GraphRunOptions, "plans">>;

const MAX_KEPT = 100;
const MAX_KEPT_CHARS = 16 * 1024 * 1024;

export class PreparedSnapshots {
  readonly #kept = new Map<string, Prepared>();
  #chars = 0;

  /**
   * The snapshot of an event, with the graphs of one that was the same.
   * @throws HoldfastError `GRAPH_INVALID`
   */
  read(data: unknown, options: ValidateOptions): Required<GraphSnapshot> & Prepared {
    const text = textOf(data);
    const known = text === undefined ? undefined : this.#kept.get(text);
    if (text === undefined || known === undefined) {
      const snapshot = { ...readSnapshot(data, options), plans: new Map() };
      if (text !== undefined) this.#keep(text, snapshot);
      return snapshot;
    }
    // Graph and graphs were checked; what else there is belongs to the run.
    const { graph, graphs, plans } = known;
    return { ...readSnapshot({ ...(data as GraphSnapshot), graph, graphs }, options, "checked"), plans };
  }

  #keep(text: string, { graph, graphs, plans }: Prepared): void {
    if (this.#kept.size >= MAX_KEPT || this.#chars + text.length > MAX_KEPT_CHARS) {
      this.#kept.clear();
      this.#chars = 0;
    }
    this.#kept.set(text, { graph, graphs, plans });
    this.#chars += text.length;
  }
}

/** Undefined for what is no JSON, which the check refuses. */
function textOf(data: unknown): string | undefined {
  if (!isObject(data)) return undefined;
  try {
    return JSON.stringify([own(data, "graph"), own(data, "graphs")]);
  } catch {
    return undefined;
  }
}
