/** The tables of graphs: definitions, versions, what is published, and which runs were made of which. */
import type { NewCron } from "../port/events.ts";
import type { GraphName, GraphRunMark, PublishedGraph } from "../port/graph-names.ts";
import {
  type GraphListFilter,
  type GraphPublication,
  type GraphPublicationOutcome,
  type GraphPut,
  type GraphPutOutcome,
  type GraphVersion,
  graphCronOwner,
  type ListedGraph,
  type ListedGraphVersion,
  type StoredGraph,
} from "../port/graphs.ts";
import type { Crons } from "./crons.ts";
import { byText, type TableClock } from "./rows.ts";

interface GraphsParts {
  readonly clock: TableClock;
  readonly crons: Crons;
  /** The registry has another version. */
  readonly changed: () => void;
}

interface GraphRow {
  graph: StoredGraph;
  /** Of the draft. */
  writeId: string;
  readonly versions: Map<number, GraphVersion & { readonly writeId: string }>;
}

/** Definitions by name. */
export class Graphs {
  readonly #parts: GraphsParts;
  readonly #byName = new Map<string, GraphRow>();
  readonly #byUid = new Map<string, GraphRow>();
  readonly #published = new Map<string, PublishedGraph>();
  readonly #marks = new Map<string, GraphRunMark & { readonly markedMs: number }>();

  constructor(parts: GraphsParts) {
    this.#parts = parts;
  }

  published(): PublishedGraph[] {
    return [...this.#published.values()].sort((a, b) => byText(a.uid, b.uid));
  }

  put(put: GraphPut): GraphPutOutcome {
    const row = this.#byName.get(keyOf(put));
    if (row?.writeId === put.writeId) return { outcome: "stored", graph: row.graph };
    const { expectedRevision } = put;
    if (expectedRevision !== null && expectedRevision !== (row?.graph.revision ?? 0)) {
      return { outcome: "conflict", graph: row?.graph ?? null };
    }
    const { environment, tenant, id, title, runner, draftJson } = put;
    const nowMs = this.#parts.clock.nowMs();
    const draft = { title, runner, draftJson, updatedMs: nowMs };
    if (row) {
      row.graph = { ...row.graph, ...draft, revision: row.graph.revision + 1 };
      row.writeId = put.writeId;
      return { outcome: "stored", graph: row.graph };
    }
    const nothing = { version: null, lastVersion: 0, publishedMs: null };
    const graph = { environment, tenant, id, uid: put.uid, revision: 1, ...draft, ...nothing, createdMs: nowMs };
    const made: GraphRow = { graph, writeId: put.writeId, versions: new Map() };
    this.#byName.set(keyOf(put), made);
    this.#byUid.set(put.uid, made);
    return { outcome: "stored", graph };
  }

  publish(publication: GraphPublication): GraphPublicationOutcome {
    const { of, uid, runner, triggers, crons } = publication;
    const row = this.#byName.get(keyOf(publication));
    if (row?.graph.uid !== uid) return { outcome: "gone" };
    const found = "version" in of ? (row.versions.get(of.version) ?? null) : this.#newVersion(row, of);
    if (found === null) return { outcome: "gone" };
    if (found === "conflict") return { outcome: "conflict", revision: row.graph.revision };
    const { version } = found;
    const publishedMs = this.#parts.clock.nowMs();
    row.graph = { ...row.graph, version, publishedMs };
    const { environment, tenant, id } = row.graph;
    const isTriggered = triggers.events.length + triggers.crons.length > 0;
    const isNow = isTriggered && runner !== null ? { environment, tenant, id, uid, version, runner, triggers } : null;
    this.#trigger(uid, isNow, crons);
    return { outcome: "published", version, publishedMs };
  }

  /** `conflict`: the draft is another one. */
  #newVersion(
    row: GraphRow,
    { revision, snapshotJson, writeId }: { revision: number; snapshotJson: string; writeId: string },
  ): GraphVersion | "conflict" {
    const repeated = [...row.versions.values()].find((one) => one.writeId === writeId);
    if (repeated) return repeated;
    if (row.graph.revision !== revision) return "conflict";
    const version = row.graph.lastVersion + 1;
    const { uid } = row.graph;
    const made = { uid, version, revision, snapshotJson, publishedMs: this.#parts.clock.nowMs(), writeId };
    row.versions.set(version, made);
    row.graph = { ...row.graph, lastVersion: version };
    return made;
  }

  #trigger(uid: string, now: PublishedGraph | null, crons: readonly NewCron[]): void {
    this.#parts.crons.saveOf(graphCronOwner(uid), now ? crons : []);
    const before = this.#published.get(uid) ?? null;
    if (JSON.stringify(before) === JSON.stringify(now)) return;
    if (now) this.#published.set(uid, now);
    else this.#published.delete(uid);
    this.#parts.changed();
  }

  unpublish(name: GraphName): boolean {
    const row = this.#byName.get(keyOf(name));
    if (!row || row.graph.version === null) return false;
    row.graph = { ...row.graph, version: null, publishedMs: null };
    this.#trigger(row.graph.uid, null, []);
    return true;
  }

  get(name: GraphName): StoredGraph | null {
    return this.#byName.get(keyOf(name))?.graph ?? null;
  }

  version(uid: string, version: number): GraphVersion | null {
    const found = this.#byUid.get(uid)?.versions.get(version);
    if (!found) return null;
    const { writeId: _, ...shown } = found;
    return shown;
  }

  versions(uid: string, limit: number, before?: number): ListedGraphVersion[] {
    return [...(this.#byUid.get(uid)?.versions.values() ?? [])]
      .filter(({ version }) => before === undefined || version < before)
      .sort((a, b) => b.version - a.version)
      .slice(0, limit)
      .map(({ uid: of, version, revision, publishedMs }) => ({ uid: of, version, revision, publishedMs }));
  }

  list({ environment, tenant, limit, after }: GraphListFilter): ListedGraph[] {
    return [...this.#byName.values()]
      .map(({ graph: { draftJson: _, ...shown } }) => shown)
      .filter((one) => one.environment === environment && (tenant === undefined || one.tenant === tenant))
      .filter((one) => after === undefined || byName(one, after) > 0)
      .sort(byName)
      .slice(0, limit);
  }

  uidsIn(environment: string): string[] {
    return [...this.#byUid.values()].flatMap(({ graph }) => (graph.environment === environment ? [graph.uid] : []));
  }

  delete(name: GraphName, force: boolean, isLiving: (runId: string) => boolean): "deleted" | "living" | "gone" {
    const row = this.#byName.get(keyOf(name));
    if (!row) return "gone";
    const { uid } = row.graph;
    const hasLiving = [...this.#marks].some(([runId, mark]) => mark.uid === uid && !mark.test && isLiving(runId));
    if (hasLiving && !force) return "living";
    this.#byName.delete(keyOf(name));
    this.#byUid.delete(uid);
    this.#trigger(uid, null, []);
    return "deleted";
  }

  repairCrons(crons: readonly (NewCron & { readonly uid: string; readonly version: number })[]): void {
    this.#parts.crons.repairThese(crons.filter(({ uid, version }) => this.#published.get(uid)?.version === version));
  }

  mark(runId: string, { uid, version, test }: GraphRunMark): void {
    this.#marks.set(runId, { uid, version, test, markedMs: this.#parts.clock.nowMs() });
  }

  unmark(runId: string): void {
    this.#marks.delete(runId);
  }

  markOf(runId: string): GraphRunMark | null {
    const found = this.#marks.get(runId);
    return found ? { uid: found.uid, version: found.version, test: found.test } : null;
  }

  nameOf(uid: string): GraphName | null {
    const found = this.#byUid.get(uid)?.graph;
    return found ? { environment: found.environment, tenant: found.tenant, id: found.id } : null;
  }

  oldTests(olderThanMs: number, limit: number, isOnHold: (runId: string) => boolean): string[] {
    const beforeMs = this.#parts.clock.nowMs() - olderThanMs;
    return [...this.#marks]
      .filter(([runId, { test, markedMs }]) => test && markedMs < beforeMs && !isOnHold(runId))
      .sort(([a, { markedMs: x }], [b, { markedMs: y }]) => x - y || byText(a, b))
      .slice(0, limit)
      .map(([runId]) => runId);
  }
}

const keyOf = ({ environment, tenant, id }: GraphName): string => [environment, tenant, id].join("\n");

const byName = (a: Pick<GraphName, "tenant" | "id">, b: Pick<GraphName, "tenant" | "id">): number =>
  byText(a.tenant, b.tenant) || byText(a.id, b.id);
