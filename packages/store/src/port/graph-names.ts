/** What graphs are to runs and to the registry: names, triggers, marks. Below all else of the port. */

/** Under which a definition is found. */
export interface GraphName {
  readonly environment: string;
  /** Whose it is; "" where there is one owner. */
  readonly tenant: string;
  readonly id: string;
}

/** What starts runs of a graph. */
export interface GraphTriggers {
  readonly events: readonly GraphEventPattern[];
  readonly crons: readonly string[];
}

export interface GraphEventPattern {
  /** The event's name, or its beginning and `*`. */
  readonly pattern: string;
  /** CEL over the event; null = always. */
  readonly condition: string | null;
}

/** Of a published graph that has triggers. It is read with the registry of functions, and changes its version. */
export interface PublishedGraph extends GraphName {
  readonly uid: string;
  readonly version: number;
  /** The function that its triggers start. */
  readonly runner: string;
  readonly triggers: GraphTriggers;
}

/** Of a run that was made of a graph. */
export interface GraphRunMark {
  /** Of the definition; "" = it is not stored. */
  readonly uid: string;
  readonly version: number | null;
  /** It is a trial: it is removed when that is over. */
  readonly test: boolean;
}
