/**
 * Bounds how many log lines one peer can cause, and how long they are; what was left out is counted and reported
 * (docs/decisions/0041).
 */
import type { Clock, Log, TimerHandle, Timers } from "@holdfast/core";
import { Allowance, type AllowanceOptions } from "./allowance.ts";

export interface LogLimitPorts {
  readonly log: Log;
  readonly clock: Clock;
  readonly timers: Timers;
}

export interface LogLimitOptions extends AllowanceOptions {
  /** What the lines are about, as named in the line that reports how many were left out. */
  readonly subject: string;
  /** How often it reports. */
  readonly reportMs: number;
  readonly maxChars: number;
}

/** A log that a peer cannot flood, in lines or in their length. What is left out is counted. */
export class LogLimit {
  readonly #ports: LogLimitPorts;
  readonly #options: LogLimitOptions;
  readonly #allowance: Allowance;
  #leftOut = 0;
  #about: Record<string, unknown> | undefined;
  #timer: TimerHandle | null = null;

  constructor(ports: LogLimitPorts, options: LogLimitOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#allowance = new Allowance(options, ports.clock.monotonicMs());
  }

  readonly log: Log = (level, message, data) => {
    const { log, clock, timers } = this.#ports;
    const about = data && this.#cut(data);
    if (this.#allowance.take(clock.monotonicMs())) return log(level, this.#cutText(message), about);
    this.#leftOut += 1;
    this.#about = about;
    this.#timer ??= timers.set(this.#options.reportMs, () => this.flush(), { unref: true });
  };

  /** Reports how many lines were left out, if any; no timer is left afterwards. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#leftOut === 0) return;
    const count = this.#leftOut;
    this.#leftOut = 0;
    this.#ports.log("warn", `${count} more line(s) about ${this.#options.subject} were suppressed.`, this.#about);
  }

  #cut(data: Record<string, unknown>): Record<string, unknown> {
    const entries = Object.entries(data);
    return Object.fromEntries(
      entries.map(([name, value]) => [name, typeof value === "string" ? this.#cutText(value) : value]),
    );
  }

  #cutText(text: string): string {
    const { maxChars } = this.#options;
    return text.length > maxChars ? `${text.slice(0, maxChars)}... (${text.length} characters)` : text;
  }
}
