/**
 * The graphs that are published and triggered, as they were read with the registry: which of them an event starts, and
 * their schedules. What is decided on them carries the registry's version, as for functions.
 */
import { type EventReader, eventMatches, nextTickMs } from "@holdfast/engine";
import { GRAPH_CRON_APP, graphCronOwner, type NewCron, type PublishedGraph } from "@holdfast/store";

/** A schedule, and the version of the graph that has it. */
export type GraphCron = NewCron & { readonly uid: string; readonly version: number };

export class PublishedGraphs {
  #byUid: ReadonlyMap<string, PublishedGraph> = new Map();
  #byEnvironment: ReadonlyMap<string, readonly PublishedGraph[]> = new Map();

  read(graphs: readonly PublishedGraph[]): void {
    this.#byUid = new Map(graphs.map((graph) => [graph.uid, graph]));
    const byEnvironment = new Map<string, PublishedGraph[]>();
    for (const graph of graphs) {
      if (graph.triggers.events.length === 0) continue;
      const here = byEnvironment.get(graph.environment);
      if (here) here.push(graph);
      else byEnvironment.set(graph.environment, [graph]);
    }
    this.#byEnvironment = byEnvironment;
  }

  get(uid: string): PublishedGraph | undefined {
    return this.#byUid.get(uid);
  }

  /** Whether there are graphs that events of this environment start. */
  mayStart(environment: string): boolean {
    return this.#byEnvironment.has(environment);
  }

  /** Names of the events that start graphs of this environment; `runner`: only graphs that this function runs. */
  patternsOf(environment: string, runner?: string): string[] {
    const graphs = this.#byEnvironment.get(environment) ?? [];
    const meant = runner === undefined ? graphs : graphs.filter((graph) => graph.runner === runner);
    return meant.flatMap(({ triggers }) => triggers.events.map(({ pattern }) => pattern));
  }

  /** Those that the event starts. Between conditions that take long others have their turn. */
  async triggeredInTurns(
    environment: string,
    eventName: string,
    reader: EventReader,
  ): Promise<readonly PublishedGraph[]> {
    const triggered: PublishedGraph[] = [];
    for (const graph of this.#byEnvironment.get(environment) ?? []) {
      if (reader.mustYield) await reader.yieldTurn();
      const fits = graph.triggers.events.some(
        ({ pattern, condition }) => eventMatches(pattern, eventName) && (condition === null || reader.holds(condition)),
      );
      if (fits) triggered.push(graph);
    }
    return triggered;
  }

  /** The next ticks of all schedules. */
  crons(nowMs: number, newId: () => string): GraphCron[] {
    return [...this.#byUid.values()].flatMap(({ uid, version, triggers }) =>
      cronsOf(uid, triggers.crons, nowMs, newId).map((cron) => ({ ...cron, uid, version })),
    );
  }
}

/** The next tick of each schedule of a graph. */
export function cronsOf(uid: string, crons: readonly string[], nowMs: number, newId: () => string): NewCron[] {
  return crons.flatMap((cron) => {
    const tickMs = nextTickMs(cron, nowMs);
    if (tickMs === null) return [];
    return [
      {
        functionId: graphCronOwner(uid),
        appId: GRAPH_CRON_APP,
        cron,
        jitterMs: 0,
        tickMs,
        dueMs: tickMs,
        jobId: newId(),
      },
    ];
  });
}
