/** The frames that crossed a proxy, the rules that drop or repeat some, and the tests that wait for one. */
import { type Clock, deferred, HoldfastError, type Timers, withTimeout } from "@holdfast/core";
import type { Direction, FramePredicate, TappedFrame, TappedRequest } from "./frames.ts";

/** Older ones are kept when there are more, and newer ones only shown to waiters. */
const MAX_RECORDED = 100_000;
const MAX_LISTED = 40;

interface Rule {
  readonly matches: FramePredicate;
  readonly direction: Direction | undefined;
  readonly fate: "dropped" | "duplicated";
  left: number;
}

/** What a proxy has seen, who waits for what, and which frames are thrown away or passed on twice. */
export class TapRecord {
  readonly frames: TappedFrame[] = [];
  readonly requests: TappedRequest[] = [];
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #rules = new Set<Rule>();
  readonly #waiting = new Set<(frame: TappedFrame) => void>();

  constructor(clock: Clock, timers: Timers) {
    this.#clock = clock;
    this.#timers = timers;
  }

  /** Records a message; the result says how often it is to be passed on. */
  message(seen: Omit<TappedFrame, "at" | "fate">, held: boolean): 0 | 1 | 2 {
    const whole: TappedFrame = { ...seen, at: this.#clock.nowMs(), fate: held ? "held" : "forwarded" };
    const rule = [...this.#rules].find(
      (each) => each.left > 0 && (each.direction ?? seen.direction) === seen.direction && each.matches(whole),
    );
    if (rule) rule.left -= 1;
    const frame: TappedFrame = rule ? { ...whole, fate: rule.fate } : whole;
    if (this.frames.length < MAX_RECORDED) this.frames.push(frame);
    for (const look of [...this.#waiting]) look(frame);
    return rule === undefined ? 1 : rule.fate === "dropped" ? 0 : 2;
  }

  request(seen: Omit<TappedRequest, "at">): TappedRequest {
    const request = { ...seen, at: this.#clock.nowMs() };
    if (this.requests.length < MAX_RECORDED) this.requests.push(request);
    return request;
  }

  addRule(matches: FramePredicate, fate: Rule["fate"], options: { direction?: Direction; count?: number }): () => void {
    const rule: Rule = { matches, fate, direction: options.direction, left: options.count ?? Number.POSITIVE_INFINITY };
    this.#rules.add(rule);
    return () => void this.#rules.delete(rule);
  }

  clear(): void {
    this.frames.length = 0;
    this.requests.length = 0;
  }

  async waitFor(matches: FramePredicate, what: string, timeoutMs: number, since: number): Promise<TappedFrame> {
    const found = this.frames.slice(since).find(matches);
    if (found) return found;
    const { promise, resolve, reject } = deferred<TappedFrame>();
    const look = (frame: TappedFrame): void => {
      try {
        if (matches(frame)) resolve(frame);
      } catch (error) {
        reject(error);
      }
    };
    this.#waiting.add(look);
    try {
      return await withTimeout(this.#timers, promise, timeoutMs, () => this.#missing(what, timeoutMs));
    } finally {
      this.#waiting.delete(look);
    }
  }

  #missing(what: string, timeoutMs: number): HoldfastError {
    const shown = this.frames.slice(-MAX_LISTED).map((frame) => `  ${describeFrame(frame, this.#clock.nowMs())}`);
    const more = this.frames.length - shown.length;
    const list = [...(more > 0 ? [`  (${more} earlier ones)`] : []), ...shown];
    return new HoldfastError(
      "TEST_TIMEOUT",
      `No frame was ${what} within ${timeoutMs} ms. Frames at the proxy:\n${list.join("\n") || "  none"}`,
    );
  }
}

/** One line about a frame: how long ago, which way, what, and the ids by which one follows a request. */
export function describeFrame(tapped: TappedFrame, nowMs: number): string {
  const { frame, direction, fate, connection } = tapped;
  const ids = (["requestId", "runId", "leaseId", "newLeaseId", "status", "outcome", "sequence"] as const).flatMap(
    (name) => {
      const value = (frame as { [name: string]: unknown } | undefined)?.[name];
      return value === undefined || value === "" ? [] : [`${name}=${String(value)}`];
    },
  );
  const what = frame?.kind ?? `undecodable (${tapped.undecodable}, ${tapped.bytes.length} bytes)`;
  const arrow = direction === "to-gateway" ? "worker -> gateway" : "gateway -> worker";
  const words = [`-${nowMs - tapped.at} ms`, `#${connection}`, arrow, what, ...ids];
  return (fate === "forwarded" ? words : [...words, `(${fate})`]).join(" ");
}
