/** Which graphs an event starts, each with the event of its run: that has the graph, and the event's data as its input. */
import { type EventReader, seenText, type TriggerEvent } from "@holdfast/engine";
import type { GraphRunMark } from "@holdfast/store";
import {
  causeOfEvent,
  GRAPH_REQUESTED,
  graphRequestText,
  markOf,
  spreadsNodes,
  triggeredRequest,
} from "../graphs/graph-request.ts";
import type { Snapshots } from "../graphs/snapshots.ts";
import type { Functions, KnownFunction } from "../registry/functions.ts";
import type { Started, Starter } from "./starter.ts";

/** A run of a graph that an event starts. */
export interface GraphStart {
  readonly fn: KnownFunction;
  readonly request: TriggerEvent;
  readonly graph: GraphRunMark;
  readonly spreads: boolean;
}

interface StartingEvent {
  readonly id: string;
  readonly name: string;
  readonly tsMs: number;
  readonly data: unknown;
}

const NONE: readonly never[] = [];

/** A graph whose function no deployment has starts nothing, as a function that is not active. */
export async function graphStarts(
  { functions, snapshots }: { readonly functions: Functions; readonly snapshots: Snapshots },
  environment: string,
  event: StartingEvent,
  reader: EventReader,
): Promise<readonly GraphStart[]> {
  const graphs = await functions.graphs.triggeredInTurns(environment, event.name, reader);
  if (graphs.length === 0) return NONE;
  const { id, tsMs } = event;
  const cause = causeOfEvent(event);
  const made = graphs.map(async (graph) => {
    const fn = functions.get(graph.runner);
    const snapshotJson = fn?.active ? await snapshots.of(graph) : null;
    if (!fn || snapshotJson === null) return [];
    const payloadJson = graphRequestText(id, tsMs, triggeredRequest(graph, snapshotJson, cause));
    return [
      {
        fn,
        request: { id, name: GRAPH_REQUESTED, payloadJson },
        graph: markOf(graph),
        spreads: spreadsNodes(snapshotJson),
      },
    ];
  });
  return (await Promise.all(made)).flat();
}

/** They are wanted for certain: flow rules of the function that runs them do not count, its limits do. */
export function startGraphs(starter: Starter, starts: readonly GraphStart[], startMs: number | null): Started[] {
  return starts.map(({ fn, request, graph, spreads }) => {
    const reader = starter.reader(() => seenText(request.payloadJson));
    return starter.start([fn], request, reader, { stage: "invoked", startMs, graph, spreads });
  });
}

export function together(first: Started, others: readonly Started[]): Started {
  if (others.length === 0) return first;
  const starts = [first, ...others];
  return {
    runs: starts.flatMap(({ runs }) => runs),
    windows: starts.flatMap(({ windows }) => windows),
    leased: starts.flatMap(({ leased }) => leased),
  };
}
