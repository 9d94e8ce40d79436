/** A notice as a line: what happened in a sentence, and the fields that a machine looks for. Pure; texts come from apps. */
import {
  isInstalledHoldfast,
  isNodeInternal,
  type LogLevel,
  nearestName,
  type PlainError,
  stackFrames,
  unreachable,
} from "@holdfast/core";
import { eventMatches } from "@holdfast/engine";
import { plainName, type SkippedBy } from "@holdfast/store";
import type { Notice } from "../dispatch/index.ts";
import { durationText } from "./duration-text.ts";

export interface NoticeLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface NoticeWords {
  /** Of what goes as it should: `info` where someone looks on, `debug` where thousands of runs end in a second. */
  readonly routine: "info" | "debug";
  /** The names of events that functions of this event's environment listen to; asked for when nothing does. */
  readonly listeners: (eventName: string) => readonly string[];
}

const MOST_NAMED = 5;
const MAX_TEXT = 300;

export function noticeLine(notice: Notice, words: NoticeWords): NoticeLine {
  switch (notice.type) {
    case "EVENT_STORED":
      return eventLine(notice, words);
    case "RUN_ENDED":
      return endLine(notice, words);
    case "ATTEMPT_FAILED": {
      const { runId, traceId, step, attempt, nextInMs, error } = notice;
      const functionId = plainName(notice.functionId);
      const what = step === null ? functionId : `${functionId}: step "${shown(step)}"`;
      const at = placeOf(error);
      return {
        level: "warn",
        message: `${what} failed, attempt ${attempt + 1}; next in ${durationText(nextInMs)}: ${errorText(error, at)}`,
        data: {
          runId,
          functionId,
          ...(step === null ? {} : { stepId: step }),
          attempt,
          nextInMs,
          error: error.name,
          at,
          ...traced(traceId),
        },
      };
    }
    default:
      return unreachable(notice);
  }
}

const traced = (traceId: string | undefined): object => (traceId === undefined ? {} : { traceId });

/** Events that are made here, as what they are to their reader. */
const WITHIN: Readonly<Record<string, string>> = {
  "inngest/function.invoked": "A call of invoke",
  "inngest/scheduled.timer": "A schedule",
  "inngest/function.failed": "A failed run",
};

type EventNotice = Extract<Notice, { type: "EVENT_STORED" }>;

function eventLine(notice: EventNotice, { routine, listeners }: NoticeWords): NoticeLine {
  const { eventId, functionIds, isCollected, skippedBy, isAwaited } = notice;
  const name = shown(plainName(notice.name));
  const data = {
    ...{ eventId, event: plainName(notice.name), runs: functionIds.length },
    ...(skippedBy.length === 0 ? {} : { skipped: skippedBy.slice(0, MOST_NAMED).map(skipData) }),
  };
  const skips = skipsText(skippedBy);
  const line = (message: string, level: LogLevel = routine): NoticeLine => ({ level, message, data });
  if (functionIds.length > 0) {
    const more = functionIds.length > MOST_NAMED ? ` and ${functionIds.length - MOST_NAMED} more` : "";
    const started = functionIds.slice(0, MOST_NAMED).map(plainName).join(", ");
    const rest = skips === "" ? "" : `, and not all that it triggers: ${skips}`;
    return line(`${WITHIN[name] ?? `Event ${name}`} starts ${started}${more}${rest}`);
  }
  if (isCollected) return line(`Event ${name} is collected with others: its run starts later`);
  if (skips !== "") return line(`Event ${name} starts nothing: ${skips}`);
  if (isAwaited) return line(`Event ${name} is for runs that wait for it; it starts none`);
  const names = listeners(notice.name);
  const isHeard = names.some((pattern) => eventMatches(pattern, plainName(notice.name)));
  if (isHeard) return line(`Event ${name} starts nothing: no condition of the functions that listen to it holds`);
  const { why, isMistake } = whyUnheard(plainName(notice.name), names);
  // Where many events go to other systems as well, this is no news.
  return line(`Event ${name} started nothing: ${why}`, routine === "info" && isMistake ? "warn" : routine);
}

const OPTIONS = { rate: "rateLimit", idempotency: "idempotency", single: "singleton" } as const;

const skipData = ({ functionId, rule, shown: key, runId }: SkippedBy): object => ({
  ...{ functionId: plainName(functionId), option: OPTIONS[rule] },
  ...(key === null ? {} : { key }),
  ...(runId === null ? {} : { runId }),
});

/** "" when none was skipped. */
function skipsText(skippedBy: readonly SkippedBy[]): string {
  const said = skippedBy.slice(0, MOST_NAMED).map(({ functionId, rule, shown: key, runId }) => {
    const value = key === null ? "" : ` (${shown(key)})`;
    const holder = runId === null ? "" : `, run ${runId} has not ended`;
    return `\`${OPTIONS[rule]}\` of ${shown(plainName(functionId))} forbids it${value}${holder}`;
  });
  const more = skippedBy.length - said.length;
  return said.join("; ") + (more > 0 ? `; and ${more} more` : "");
}

/** A mistake, probably: no app is there, or the name is nearly that of another event. Else a step may take it later. */
function whyUnheard(name: string, names: readonly string[]): { readonly why: string; readonly isMistake: boolean } {
  if (names.length === 0) {
    return { why: "no function listens to any event here. Is an app connected?", isMistake: true };
  }
  const near = nearestEvent(name, names);
  const hint =
    near === undefined
      ? `They listen to ${names.slice(0, MOST_NAMED).map(shown).join(", ")}`
      : `Did you mean ${shown(near)}?`;
  const why = `no function listens to it (a step that waits for it later with \`since: "run"\` still has it). ${hint}`;
  return { why, isMistake: near !== undefined };
}

const MOST_EDITS = 2;
/** In a name of fewer letters two wrong ones make another name. */
const SHORT_NAME = 5;

/**
 * Names mostly share what comes before the last separator, so a mistake is measured by the rest: `a1/e` is not `a1/go`,
 * however long the name in front of both is.
 */
function nearestEvent(name: string, names: readonly string[]): string | undefined {
  const near = nearestName(name, names, MOST_EDITS);
  if (near === undefined || nearestName(name, [near], 1) !== undefined) return near;
  const [given, meant] = [lastPart(name), lastPart(near)];
  const isShort = given !== meant && Math.min(given.length, meant.length) < SHORT_NAME;
  return isShort ? undefined : near;
}

const lastPart = (name: string): string => name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf(".")) + 1);

type EndNotice = Extract<Notice, { type: "RUN_ENDED" }>;

function endLine(
  { runId, functionId, status, tookMs, error, traceId }: EndNotice,
  { routine }: NoticeWords,
): NoticeLine {
  const name = plainName(functionId);
  const took = durationText(tookMs);
  const data = { runId, functionId: name, status, tookMs, ...traced(traceId) };
  if (error === null) return { level: routine, message: `${name} completed in ${took}`, data };
  if (status === "CANCELLED") return { level: routine, message: `${name} was cancelled: ${errorText(error)}`, data };
  const at = placeOf(error);
  return {
    level: "error",
    message: `${name} failed after ${took}: ${errorText(error, at)}`,
    data: { ...data, error: error.name, at },
  };
}

function errorText({ name, message }: PlainError, at?: string): string {
  const text = shown(name === "Error" || name === "HoldfastError" ? message : `${name}: ${message}`);
  return at === undefined ? text : `${text} (at ${at})`;
}

/** The innermost line of the stack that is the app's. */
function placeOf({ stack }: PlainError): string | undefined {
  const frames = typeof stack === "string" ? stackFrames(stack) : [];
  for (const frame of frames) {
    const [, file = "", line = ""] = /\(?((?:[a-z]+:\/\/)?[^()\s]+?)(:\d+(?::\d+)?)\)?$/.exec(frame.trim()) ?? [];
    if (file !== "" && !isInstalledHoldfast(file) && !isNodeInternal(file) && !file.startsWith("node:")) {
      return shown(`${file.replace(/^file:\/\//, "")}${line}`);
    }
  }
  return undefined;
}

/** What comes from apps and events may hold anything; a line is a line. */
function shown(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not reach a terminal.
  const controls = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\s]+/g;
  const line = text.replaceAll(controls, " ").trim();
  return line.length > MAX_TEXT ? `${line.slice(0, MAX_TEXT)}…` : line;
}
