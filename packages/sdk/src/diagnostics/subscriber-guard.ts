/**
 * Keeps a subscriber that throws from ending the process. `node:diagnostics_channel` catches the error and makes it an
 * uncaught exception in the next tick; here ticks before and after those take it from there, so that it becomes a
 * warning (docs/decisions/0072).
 */
import { messageOf } from "@holdfast/core";

/** The innermost one last: a subscriber may cause something that is published, too. */
const open: SubscriberGuard[] = [];
let isOurs = false;
const warned = new Set<string>();
const MAX_WARNINGS = 100;

const capture = (thrown: unknown): void => open.at(-1)?.report(thrown);

export class SubscriberGuard {
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  /** Right before subscribers are called. Ticks run in order, with nothing in between. */
  begin(): void {
    process.nextTick(() => {
      open.push(this);
      // An app that catches all exceptions itself gets these as well.
      if (process.hasUncaughtExceptionCaptureCallback()) return;
      process.setUncaughtExceptionCaptureCallback(capture);
      isOurs = true;
    });
  }

  /** Right after. */
  end(): void {
    process.nextTick(() => {
      open.pop();
      if (open.length > 0 || !isOurs) return;
      isOurs = false;
      process.setUncaughtExceptionCaptureCallback(null);
    });
  }

  /** Once for each message: what fails here fails with every step. */
  report(thrown: unknown): void {
    const message = `A subscriber of ${this.#name} threw: ${messageOf(thrown)}`;
    if (warned.has(message) || warned.size >= MAX_WARNINGS) return;
    warned.add(message);
    const detail = thrown instanceof Error ? thrown.stack : undefined;
    process.emitWarning(message, { type: "HoldfastWarning", code: "LISTENER_FAILED", ...(detail ? { detail } : {}) });
  }
}
