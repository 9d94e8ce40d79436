/** The conversation of one connection as it happens: its frames, decoded, filtered, with what a fault changed. */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { environment } from "../data/api.ts";
import { follow } from "../data/event-stream.ts";
import { countOf, countText } from "../data/format.ts";
import { query, setQuery } from "../data/router.ts";
import { JsonView } from "../parts/json-view.tsx";
import { Problem } from "../parts/notice.tsx";
import type { ViewProps } from "./view-props.ts";

interface Frame {
  readonly sequence: number;
  readonly atMs: number;
  readonly direction: "to-gateway" | "to-worker";
  readonly kind: string;
  readonly sizeBytes: number;
  readonly functionId: string | null;
  readonly runId: string | null;
  readonly steps: readonly string[];
  readonly fault: { readonly id: string; readonly what: string; readonly text: string } | null;
  readonly frame: Readonly<Record<string, unknown>>;
}

/** Kept of those that came by. */
const MAX_FRAMES = 1_000;
/** Shown at once: who wants to see others filters. */
const MAX_SHOWN = 200;

type State = "opening" | "live" | "away" | "gone";

interface Conversation {
  readonly frames: readonly Frame[];
  readonly state: State;
  readonly leftOut: number;
}

const NOTHING: Conversation = { frames: [], state: "opening", leftOut: 0 };

/** What comes within a frame of the screen is shown together. */
function useConversation(id: string, isStopped: boolean): Conversation {
  const [shown, setShown] = useState<Conversation>(NOTHING);
  const now = useRef<Conversation>(NOTHING);
  const stopped = useRef(isStopped);
  stopped.current = isStopped;
  const scope = environment.value;
  useEffect(() => {
    let isAsked = false;
    now.current = NOTHING;
    const show = (next: Partial<Conversation>): void => {
      now.current = { ...now.current, ...next };
      if (isAsked) return;
      isAsked = true;
      requestAnimationFrame(() => {
        isAsked = false;
        setShown(now.current);
      });
    };
    return follow(`/v1/workers/${encodeURIComponent(id)}/frames`, {
      onState: (isOpen) => show({ state: isOpen ? "live" : now.current.state === "gone" ? "gone" : "away" }),
      onMessage: ({ event, data }) => {
        if (event === "end") return show({ state: "gone" });
        if (event === "left-out") {
          return show({ leftOut: now.current.leftOut + (data as { readonly count: number }).count });
        }
        if (event !== "frames" || stopped.current) return;
        const { frames } = data as { readonly frames: readonly Frame[] };
        show({ frames: [...now.current.frames, ...frames].slice(-MAX_FRAMES) });
      },
    });
  }, [id, scope]);
  return shown;
}

const STATES: Readonly<Record<State, string>> = {
  opening: "Asking the gateway for its frames …",
  live: "Live. What went by while no one followed it is not kept.",
  away: "The gateway does not send its frames, or another gateway has this worker. Trying again.",
  gone: "This connection is gone. The worker comes back under another connection.",
};

export function Frames({ params }: ViewProps): JSX.Element {
  const { id = "" } = params;
  const [isStopped, setStopped] = useState(false);
  const { frames, state, leftOut } = useConversation(id, isStopped);
  const filter = filterOf(query.value);
  const fitting = useMemo(() => frames.filter(fits(filter)), [frames, query.value]);
  const kinds = useMemo(() => [...new Set(frames.map(({ kind }) => kind))].sort(), [frames]);
  return (
    <>
      <div class="page-head">
        <h1>
          Frames of <bdi>{id}</bdi>
        </h1>
        <p class="lead">
          <a href="/ui/connections">All connections</a>
        </p>
      </div>
      <Problem trouble={state === "away" ? STATES.away : null} />
      {state !== "away" && <p class="lead">{STATES[state]}</p>}
      <FilterForm kinds={kinds} isStopped={isStopped} onStop={() => setStopped(!isStopped)} />
      <p class="faint" aria-live="off">
        {countOf(fitting.length, "frame")} of {countText(frames.length)} that were seen
        {leftOut > 0 && `; ${countText(leftOut)} came too quickly to be sent here`}
      </p>
      <ol class="frames" aria-label="Frames, the newest first">
        {fitting
          .slice(-MAX_SHOWN)
          .reverse()
          .map((frame) => (
            <li key={frame.sequence}>
              <FrameRow frame={frame} />
            </li>
          ))}
      </ol>
      {fitting.length > MAX_SHOWN && <p class="list-end">Older ones are left out: filter to see them.</p>}
    </>
  );
}

interface FrameFilter {
  readonly kind: string;
  readonly direction: string;
  readonly text: string;
  readonly isChanged: boolean;
  readonly hidesHeartbeats: boolean;
}

function filterOf(given: URLSearchParams): FrameFilter {
  const textOf = (name: string): string => given.get(name) ?? "";
  return {
    kind: textOf("kind"),
    direction: textOf("direction"),
    text: textOf("text"),
    isChanged: textOf("changed") === "1",
    hidesHeartbeats: textOf("heartbeats") !== "1",
  };
}

const fits =
  ({ kind, direction, text, isChanged, hidesHeartbeats }: FrameFilter) =>
  (frame: Frame): boolean =>
    (kind === "" || frame.kind === kind) &&
    (kind !== "" || !hidesHeartbeats || !frame.kind.endsWith("_HEARTBEAT")) &&
    (direction === "" || frame.direction === direction) &&
    (!isChanged || frame.fault !== null) &&
    (text === "" || [frame.functionId, frame.runId, ...frame.steps].some((one) => one?.includes(text)));

interface FilterFormProps {
  readonly kinds: readonly string[];
  readonly isStopped: boolean;
  readonly onStop: () => void;
}

function FilterForm({ kinds, isStopped, onStop }: FilterFormProps): JSX.Element {
  const { kind, direction, text, isChanged, hidesHeartbeats } = filterOf(query.value);
  return (
    <form class="filters" role="search" aria-label="Filter frames" onSubmit={(event) => event.preventDefault()}>
      <div class="fields frame-fields">
        <label>
          Kind
          <select value={kind} onChange={(event) => setQuery({ kind: event.currentTarget.value })}>
            <option value="">All kinds</option>
            {[...new Set(kind === "" ? kinds : [kind, ...kinds])].map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
        <label>
          Direction
          <select value={direction} onChange={(event) => setQuery({ direction: event.currentTarget.value })}>
            <option value="">Both</option>
            <option value="to-gateway">To the gateway</option>
            <option value="to-worker">To the worker</option>
          </select>
        </label>
        <label>
          Function, run or step
          <input
            type="search"
            value={text}
            spellcheck={false}
            onInput={(event) => setQuery({ text: event.currentTarget.value.trim() })}
          />
        </label>
      </div>
      <div class="buttons">
        <label class="check">
          <input type="checkbox" checked={isChanged} onChange={() => setQuery({ changed: isChanged ? "" : "1" })} />
          Only what a fault changed
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={!hidesHeartbeats}
            onChange={() => setQuery({ heartbeats: hidesHeartbeats ? "1" : "" })}
          />
          Heartbeats
        </label>
        <button type="button" onClick={onStop}>
          {isStopped ? "Go on" : "Hold still"}
        </button>
      </div>
    </form>
  );
}

const ARROWS = { "to-gateway": "→ gateway", "to-worker": "← worker" } as const;

function FrameRow({ frame }: { readonly frame: Frame }): JSX.Element {
  const { kind, direction, atMs, steps, functionId, runId, fault, sizeBytes } = frame;
  return (
    <details class="frame" data-direction={direction}>
      <summary>
        <span class="mono faint">{clockText(atMs)}</span>
        <span class="frame-way">{ARROWS[direction]}</span>
        <span class="mono frame-kind">{kind}</span>
        <span class="frame-about">
          {functionId !== null && <bdi>{functionId}</bdi>}
          {steps.map((step) => (
            <span key={step} class="badge">
              <bdi>{step}</bdi>
            </span>
          ))}
        </span>
        {fault && <strong class="frame-fault">{`${fault.what}: ${fault.text}`}</strong>}
        <span class="faint number">{countOf(sizeBytes, "byte")}</span>
      </summary>
      {runId !== null && (
        <p>
          <a href={`/ui/runs/${encodeURIComponent(runId)}`}>Run {runId}</a>
        </p>
      )}
      <JsonView value={frame.frame} label={kind} />
    </details>
  );
}

function clockText(atMs: number): string {
  const at = new Date(atMs);
  const two = (value: number): string => String(value).padStart(2, "0");
  const ms = String(at.getMilliseconds()).padStart(3, "0");
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${ms}`;
}
