/** The filter of the list of runs by graph; where there is no graph, there is none. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { environment, get } from "../data/api.ts";
import type { ListedGraph } from "../data/graphs.ts";
import { setQuery } from "../data/router.ts";
import type { Filter } from "./runs-filter.ts";

/** A list to choose from; more of them are reached by their own pages. */
const MOST = 500;
const graphs = signal<readonly Pick<ListedGraph, "id" | "tenant">[]>([]);

async function readGraphs(): Promise<void> {
  const nothing = { graphs: [] };
  const page = await get<{ graphs: readonly ListedGraph[] }>(`/v1/graphs?limit=${MOST}`).catch(() => nothing);
  graphs.value = page.graphs;
}

/** Neither has a line break. */
const choiceOf = ({ id, tenant }: Pick<ListedGraph, "id" | "tenant">): string => `${tenant}\n${id}`;

export function GraphFilter({ filter: { graph, tenant } }: { readonly filter: Filter }): JSX.Element | null {
  useEffect(() => void readGraphs(), [environment.value]);
  const chosen = { id: graph, tenant };
  const isListed = graph === "" || graphs.value.some((one) => one.id === graph && one.tenant === tenant);
  const all = isListed ? graphs.value : [chosen, ...graphs.value];
  if (all.length === 0) return null;
  const choose = (value: string): void => {
    const [owner = "", id = ""] = value.split("\n");
    setQuery({ graph: id, tenant: owner });
  };
  return (
    <label>
      Graph
      <select value={graph === "" ? "" : choiceOf(chosen)} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">Any, or none</option>
        {all.map((one) => (
          <option key={choiceOf(one)} value={choiceOf(one)}>
            {one.tenant === "" ? one.id : `${one.tenant} / ${one.id}`}
          </option>
        ))}
      </select>
    </label>
  );
}
