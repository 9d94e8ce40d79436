/** What the live streams of runs send: a snapshot where they begin, then the rows of the log, until there is an end. */
import { isEnded } from "@holdfast/engine";
import { environmentOf, type LogChange, type LogPosition, type RunFilter, type RunStatus } from "@holdfast/store";
import { Watch } from "../live/watch.ts";
import { type EventStream, messageText, quietText } from "./event-stream.ts";
import { factsView } from "./fact-view.ts";

import type { HttpParts } from "./parts.ts";
import { runDetailView, runView } from "./run-view.ts";

/** After so long without a message a sign of life is sent. */
export const HEARTBEAT_MS = 15_000;

export type StreamParts = Pick<HttpParts, "store" | "live" | "timers" | "clock">;

type Texts = AsyncGenerator<string, void>;

export interface OneRun {
  readonly runId: string;
  /** When the stream was asked for. */
  readonly status: RunStatus;
  /** Null: it begins with a snapshot. */
  readonly position: LogPosition | null;
}

/** Ends with the run. */
export function streamOfRun(parts: StreamParts, run: OneRun): EventStream {
  const scope = { runIds: [run.runId], functionIds: [] };
  const watch = new Watch(parts.live, parts.timers, scope, run.position);
  return { texts: closing(watch, runTexts(parts, watch, run)), end: () => watch.close() };
}

async function* runTexts(parts: StreamParts, watch: Watch, { runId, position, status: asked }: OneRun): Texts {
  let status = asked;
  if (position === null) {
    const id = await watch.begin();
    const detail = await parts.live.own(() => parts.store.getRun(runId));
    if (!detail) return;
    yield messageText({ event: "snapshot", id, data: { run: runDetailView(detail, false) } });
    status = detail.head.status;
  }
  for (;;) {
    // What there is may say that it goes on.
    const watched = await watch.next(isEnded(status) ? 0 : HEARTBEAT_MS);
    switch (watched.type) {
      case "CHANGES":
        for (const change of watched.changes) status = change.status ?? status;
        yield watched.changes.map(factsText).join("");
        break;
      case "QUIET":
        if (isEnded(status)) return yield endText(status, watched.position);
        yield quietText(watched.position);
        break;
      case "TOO_OLD":
      case "CLOSED":
        return yield CLOSING;
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
        const text = watched.changes.filter(wanted).map(factsText).join("");
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

const factsText = (change: LogChange): string =>
  messageText({ event: "facts", id: change.position, data: factsView(change) });
const endText = (status: RunStatus, id: LogPosition): string => messageText({ event: "end", id, data: { status } });
const CLOSING = messageText({ event: "closing", data: { reason: "The gateway goes down. Go on at another one." } });
