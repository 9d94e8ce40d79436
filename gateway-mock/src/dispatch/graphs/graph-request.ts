/**
 * The event of a graph's run: it carries the snapshot, so that a run needs no definition from then on. Pure.
 */
import { jsonText } from "@holdfast/engine";
import type { GraphRunMark, PublishedGraph } from "@holdfast/store";

export const GRAPH_REQUESTED = "holdfast/graph.requested";
/** Of a test: lists show what it is by the event's name. */
export const GRAPH_TESTED = "holdfast/graph.tested";

/** What starts a run of a graph, as JSON texts. */
export interface GraphRequest {
  /** `{ "graph": …, "graphs": { "<id>@<version>": … } }`; with `"dispatch": "node"` before it nodes are jobs of their own. */
  readonly snapshotJson: string;
  readonly graphId: string;
  readonly tenant: string;
  /** null = it is not published. */
  readonly version: number | null;
  readonly inputJson: string;
  readonly test: boolean;
  /** The event or the tick that has triggered it; null = a caller has. */
  readonly triggerJson: string | null;
}

export const eventNameOf = ({ test }: Pick<GraphRequest, "test">): string => (test ? GRAPH_TESTED : GRAPH_REQUESTED);

/** Which events runs of graphs come of; not all that come of these are. */
export const isGraphEvent = (name: string): boolean => name === GRAPH_REQUESTED || name === GRAPH_TESTED;

const SPREADS = '{"dispatch":"node",';

/** Whether the nodes of its runs are jobs of their own, for any worker. */
export const spreadsNodes = (snapshotJson: string): boolean => snapshotJson.startsWith(SPREADS);

/** The same snapshot, to be run in this way. */
export function dispatchedBy(snapshotJson: string, dispatch: GraphDispatch): string {
  if (spreadsNodes(snapshotJson) === (dispatch === "node")) return snapshotJson;
  return dispatch === "node" ? SPREADS + snapshotJson.slice(1) : `{${snapshotJson.slice(SPREADS.length)}`;
}

/** `run`: nodes run one after the other in place, as steps do. `node`: each is a job, which any worker takes. */
export type GraphDispatch = "run" | "node";

/** The event as functions see it. */
export function graphRequestText(id: string, tsMs: number, request: GraphRequest): string {
  const { snapshotJson, graphId, tenant, version, inputJson, test, triggerJson } = request;
  const data = [
    snapshotJson.slice(1, -1),
    `"graphId":${JSON.stringify(graphId)}`,
    `"tenant":${JSON.stringify(tenant)}`,
    `"version":${version}`,
    `"input":${inputJson}`,
    ...(test ? ['"test":true'] : []),
    ...(triggerJson === null ? [] : [`"trigger":${triggerJson}`]),
  ];
  const name = eventNameOf(request);
  return `{"id":${JSON.stringify(id)},"name":"${name}","data":{${data.join(",")}},"ts":${tsMs},"user":{}}`;
}

/** Of a run that its trigger starts. */
export function triggeredRequest(
  { id: graphId, tenant, version }: PublishedGraph,
  snapshotJson: string,
  cause: { readonly inputJson: string; readonly triggerJson: string },
): GraphRequest {
  return { snapshotJson, graphId, tenant, version, test: false, ...cause };
}

export const markOf = ({ uid, version }: PublishedGraph): GraphRunMark => ({ uid, version, test: false });

interface CauseEvent {
  readonly id: string;
  readonly name: string;
  readonly data: unknown;
  readonly tsMs: number;
}

/** The data of the event is the input. */
export function causeOfEvent({ id, name, data, tsMs }: CauseEvent): Pick<Causes, "inputJson" | "triggerJson"> {
  const inputJson = jsonText(data ?? {});
  const fields = [`"id":${jsonText(id)}`, `"name":${jsonText(name)}`, `"ts":${tsMs}`];
  return { inputJson, triggerJson: `{"event":{${fields.join(",")}}}` };
}

interface Causes {
  readonly inputJson: string;
  readonly triggerJson: string;
}

export function causeOfTick(cron: string, scheduledAt: string): Causes {
  const text = JSON.stringify({ cron, scheduledAt });
  return { inputJson: text, triggerJson: text };
}
