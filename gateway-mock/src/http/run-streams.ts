/** What the live streams of runs send: a snapshot where they begin, then the rows of the log, until there is an end. */
import { isEnded } from "@holdfast/engine";
import {
  environmentOf,
  type LogChange,
  type LogPosition,
  type RunDetail,
  type RunFilter,
  type RunStatus,
} from "@holdfast/store";
import { Watch } from "../live/watch.ts";
import { nextLink } from "./chain-links.ts";
import { type EventStream, messageText, quietText } from "./event-stream.ts";
import { factsView } from "./fact-view.ts";

import type { HttpParts } from "./parts.ts";
import { runDetailView, runView } from "./run-view.ts";

/** After so long without a message a sign of life is sent. */
export const HEARTBEAT_MS = 15_000;

export type StreamParts = Pick<HttpParts, "store" | "live" | "timers" | "clock">;

type Texts = AsyncGenerator<string, void>;

export interface OneRun {
  /** What the caller has named. */
  readonly runId: string;
  /** Where it begins: the run itself, or one as which it went on. */
  readonly link: RunDetail;
  /** Null: it begins with a snapshot. */
  readonly position: LogPosition | null;
  /** It goes on with the runs as which the run goes on. */
  readonly goesOn: boolean;
}

/** Ends with the run, and with the last one as which it goes on. */
export function streamOfRun(parts: StreamParts, run: OneRun): EventStream {
  let watch = watchOf(parts, run.link.head.id, run.position);
  let isOver = false;
  const texts = async function* (): Texts {
    const first = messageOfLink(run.runId, run.link.head.id);
    let ended = yield* linkTexts(parts, watch, { ...run, id: first });
    while (ended && !isOver) {
      const next = run.goesOn ? await parts.live.own(() => nextOf(parts, ended?.runId ?? "")) : null;
      if (!next) return yield endText(ended);
      const id = messageOfLink(run.runId, next.head.id);
      const data = { continuedFrom: ended.runId, continuedAs: next.head.id };
      // All of its rows are to come, so it begins where all logs begin.
      yield messageText({ event: "continued", id: id(parts.store.logStart), data });
      watch.close();
      watch = watchOf(parts, next.head.id, parts.store.logStart);
      ended = yield* linkTexts(parts, watch, { link: next, position: parts.store.logStart, id });
    }
  };
  const end = (): void => {
    isOver = true;
    watch.close();
  };
  return { texts: closing({ close: end }, texts()), end };
}

const watchOf = ({ live, timers }: StreamParts, runId: string, position: LogPosition | null): Watch =>
  new Watch(live, timers, { runIds: [runId], functionIds: [] }, position);

async function nextOf({ store }: StreamParts, runId: string): Promise<RunDetail | null> {
  const run = await store.getRun(runId);
  return run && nextLink(store, run);
}

/** Of a run as which another went on, the id of a message says so: the stream goes on with it. */
type IdOf = (position: LogPosition) => string;
const messageOfLink =
  (runId: string, link: string): IdOf =>
  (position) =>
    link === runId ? position : `${position}@${link}`;

interface Ended {
  readonly runId: string;
  readonly status: RunStatus;
  readonly id: string;
}

/** One run, until it has ended; null: the stream is over. */
async function* linkTexts(
  parts: StreamParts,
  watch: Watch,
  { link, position, id: idOf }: Pick<OneRun, "link" | "position"> & { readonly id: IdOf },
): AsyncGenerator<string, Ended | null> {
  const runId = link.head.id;
  let { status } = link.head;
  if (position === null) {
    const at = await watch.begin();
    const detail = await parts.live.own(() => parts.store.getRun(runId));
    if (!detail) return null;
    yield messageText({ event: "snapshot", id: idOf(at), data: { run: runDetailView(detail, false) } });
    status = detail.head.status;
  }
  for (;;) {
    // What there is may say that it goes on.
    const watched = await watch.next(isEnded(status) ? 0 : HEARTBEAT_MS);
    switch (watched.type) {
      case "CHANGES":
        for (const change of watched.changes) status = change.status ?? status;
        yield watched.changes.map((change) => factsText(change, idOf)).join("");
        break;
      case "QUIET":
        if (isEnded(status)) return { runId, status, id: idOf(watched.position) };
        yield quietText(idOf(watched.position));
        break;
      case "TOO_OLD":
      case "CLOSED":
        yield CLOSING;
        return null;
    }
  }
}

export interface ManyRuns {
  readonly environment: string;
  /** Null: all. */
  readonly functionId: string | null;
  /** Rows by which a run becomes one of these; empty: all rows. */
  readonly statuses: readonly RunStatus[];
  /** Runs in the snapshot. */
  readonly limit: number;
  readonly position: LogPosition | null;
}

/** Never ends by itself. */
export function streamOfRuns(parts: StreamParts, runs: ManyRuns): EventStream {
  const scope = { runIds: [], functionIds: runs.functionId === null ? null : [runs.functionId] };
  let isOver = false;
  let watch = new Watch(parts.live, parts.timers, scope, runs.position);
  const texts = async function* (): Texts {
    for (let needsSnapshot = runs.position === null; ; needsSnapshot = true) {
      if (needsSnapshot) yield* snapshotTexts(parts, watch, runs);
      if ((yield* manyTexts(parts, watch, runs)) === "CLOSED" || isOver) return yield CLOSING;
      yield messageText({ event: "reset", data: { reason: TOO_OLD } });
      watch.close();
      watch = new Watch(parts.live, parts.timers, scope, null);
    }
  };
  const end = (): void => {
    isOver = true;
    watch.close();
  };
  return { texts: closing({ close: end }, texts()), end };
}

const TOO_OLD = "So much has happened since the stream broke off that it begins anew.";

async function* snapshotTexts({ live, store }: StreamParts, watch: Watch, { environment, ...runs }: ManyRuns): Texts {
  const id = await watch.begin();
  const filter: RunFilter = {
    environment,
    limit: runs.limit,
    ...(runs.functionId === null ? {} : { functionId: runs.functionId }),
  };
  const filters = runs.statuses.length === 0 ? [filter] : runs.statuses.map((status) => ({ ...filter, status }));
  const pages = runs.limit === 0 ? [] : await live.own(() => Promise.all(filters.map((one) => store.listRuns(one))));
  const heads = pages.flatMap((page) => page.runs).sort((a, b) => (a.id < b.id ? 1 : -1));
  yield messageText({ event: "snapshot", id, data: { runs: heads.slice(0, runs.limit).map(runView) } });
}

async function* manyTexts(
  { clock }: StreamParts,
  watch: Watch,
  { environment, statuses }: ManyRuns,
): AsyncGenerator<string, "TOO_OLD" | "CLOSED"> {
  const wanted = ({ functionId, status }: LogChange): boolean =>
    environmentOf(functionId) === environment &&
    (statuses.length === 0 || (status !== null && statuses.includes(status)));
  let sentMs = clock.monotonicMs();
  for (;;) {
    const watched = await watch.next(HEARTBEAT_MS);
    const nowMs = clock.monotonicMs();
    switch (watched.type) {
      case "CHANGES": {
        const text = watched.changes
          .filter(wanted)
          .map((change) => factsText(change))
          .join("");
        if (text === "" && nowMs - sentMs < HEARTBEAT_MS) break;
        yield text || quietText(watched.position);
        sentMs = nowMs;
        break;
      }
      case "QUIET":
        yield quietText(watched.position);
        sentMs = nowMs;
        break;
      default:
        return watched.type;
    }
  }
}

async function* closing(watch: { close(): void }, texts: Texts): Texts {
  try {
    yield* texts;
  } finally {
    watch.close();
  }
}

const factsText = (change: LogChange, idOf: IdOf = (position) => position): string =>
  messageText({ event: "facts", id: idOf(change.position), data: factsView(change) });
const endText = ({ status, id }: Ended): string => messageText({ event: "end", id, data: { status } });
const CLOSING = messageText({ event: "closing", data: { reason: "The gateway goes down. Go on at another one." } });
