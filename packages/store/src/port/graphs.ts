/**
 * Graphs as the store has them: definitions with a draft and versions that never change, the triggers of what is
 * published, and which runs were made of which graph. What a graph means is decided above; here it is JSON text.
 */
import type { NewCron } from "./events.ts";
import type { GraphName, GraphRunMark, GraphTriggers } from "./graph-names.ts";

export interface StoredGraph extends GraphName {
  /** ULID. One that is deleted and made again is another one. */
  readonly uid: string;
  readonly title: string;
  /** The function that runs it, as the environment has it; null = the only one there is. */
  readonly runner: string | null;
  /** Of the draft: rises with each write of it, beginning with 1. */
  readonly revision: number;
  readonly draftJson: string;
  /** The version that is published; null = none. */
  readonly version: number | null;
  /** The highest version that there ever was; 0 = none. Numbers are not used again. */
  readonly lastVersion: number;
  readonly createdMs: number;
  readonly updatedMs: number;
  /** When the published version was published. */
  readonly publishedMs: number | null;
}

export type ListedGraph = Omit<StoredGraph, "draftJson">;

/** A published version: it never changes. */
export interface GraphVersion {
  readonly uid: string;
  readonly version: number;
  /** Of the draft that it was made of. */
  readonly revision: number;
  /** What runs of it are given: the graph, and the graphs that it names. */
  readonly snapshotJson: string;
  readonly publishedMs: number;
}

export type ListedGraphVersion = Omit<GraphVersion, "snapshotJson">;

export interface GraphPut extends GraphName {
  /** Of the definition, if it is new. */
  readonly uid: string;
  readonly title: string;
  readonly runner: string | null;
  readonly draftJson: string;
  /** Of the draft that is replaced; 0 = there is none yet; null = whatever is there. */
  readonly expectedRevision: number | null;
  /** Names this write: repeated with the same one it counts once. */
  readonly writeId: string;
}

export type GraphPutOutcome =
  | { readonly outcome: "stored"; readonly graph: StoredGraph }
  /** The draft is another one by now; null = there is none. */
  | { readonly outcome: "conflict"; readonly graph: StoredGraph | null };

export interface GraphPublication extends GraphName {
  readonly uid: string;
  /** Makes a new version of the draft, which must still have this revision; or publishes a version that there is. */
  readonly of:
    | { readonly revision: number; readonly snapshotJson: string; readonly writeId: string }
    | { readonly version: number };
  readonly runner: string | null;
  /** Need a runner. They take the place of those of the version before. */
  readonly triggers: GraphTriggers;
  /** The next tick of each schedule; a schedule that the version before had, too, keeps its tick. */
  readonly crons: readonly NewCron[];
}

export type GraphPublicationOutcome =
  | { readonly outcome: "published"; readonly version: number; readonly publishedMs: number }
  /** The draft is another one by now. */
  | { readonly outcome: "conflict"; readonly revision: number }
  /** There is no such definition, or no such version. */
  | { readonly outcome: "gone" };

export interface GraphListFilter {
  readonly environment: string;
  /** Default: of all. */
  readonly tenant?: string;
  /** 1 to 1000. */
  readonly limit: number;
  /** The last one of the page before; with its tenant, where all are listed. */
  readonly after?: { readonly tenant: string; readonly id: string };
}

/** The schedules of a graph are kept under this and its uid, in the place of a function's id. */
const CRON_OWNER = "holdfast/graph:";
/** Belongs to no app: registrations leave these schedules alone. */
export const GRAPH_CRON_APP = "holdfast/graphs";

export const graphCronOwner = (uid: string): string => `${CRON_OWNER}${uid}`;

/** The uid of the graph whose schedule it is; null for a function's. */
export const graphOfCron = (functionId: string): string | null =>
  functionId.startsWith(CRON_OWNER) ? functionId.slice(CRON_OWNER.length) : null;

/** Definitions of graphs. All of it by its environment and tenant; each call is one transaction. */
export interface StoreGraphs {
  /** Writes a draft. Versions, triggers and runs stay as they are. */
  putGraph(put: GraphPut): Promise<GraphPutOutcome>;
  /**
   * Publishes a version, with its triggers in the place of those of the version before: what is decided on the registry
   * as it was before is refused from then on. A repeat makes no second version.
   */
  publishGraph(publication: GraphPublication): Promise<GraphPublicationOutcome>;
  /** Nothing is published any more, and nothing triggers it; its versions stay. False: nothing was. */
  unpublishGraph(name: GraphName): Promise<boolean>;
  getGraph(name: GraphName): Promise<StoredGraph | null>;
  getGraphVersion(uid: string, version: number): Promise<GraphVersion | null>;
  /** The newest first; those below `before`. */
  listGraphVersions(uid: string, limit: number, before?: number): Promise<readonly ListedGraphVersion[]>;
  /** By tenant and id. */
  listGraphs(filter: GraphListFilter): Promise<readonly ListedGraph[]>;
  /**
   * Removes the definition with its versions and triggers. Its runs go on, as they have what they need.
   * `living`: it has runs that have not ended, tests apart, and was not to be removed all the same.
   */
  deleteGraph(name: GraphName, force: boolean): Promise<"deleted" | "living" | "gone">;
  /** Of runs that were made of graphs; those of others are left out. */
  graphRuns(runIds: readonly string[]): Promise<ReadonlyMap<string, GraphRunMark>>;
  /** By uid, what definitions are called; those that are deleted are left out. */
  graphNames(uids: readonly string[]): Promise<ReadonlyMap<string, GraphName>>;
  /** Tests that were started longer ago than that and are not on hold, the oldest first. */
  oldGraphTests(olderThanMs: number, limit: number): Promise<readonly string[]>;
  /** Makes the jobs of schedules that are missing, of what is published still in this version; takes none away. */
  repairGraphCrons(crons: readonly (NewCron & { readonly uid: string; readonly version: number })[]): Promise<void>;
}
