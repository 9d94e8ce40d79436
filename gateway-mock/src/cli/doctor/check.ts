/** What `doctor` finds: each a line, with what to do about it. */
import { messageOf } from "@holdfast/core";
import { EXIT, type ExitCode, exitCodeOf } from "../exit-codes.ts";

export interface Check {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail" | "skipped";
  readonly message: string;
  readonly fix?: string;
  /** The gateway or the database does not answer. */
  readonly unreachable?: true;
}

export const ok = (name: string, message: string): Check => ({ name, status: "ok", message });
export const warn = (name: string, message: string, fix: string): Check => ({ name, status: "warn", message, fix });
export const fail = (name: string, message: string, fix: string): Check => ({ name, status: "fail", message, fix });
export const skipped = (name: string, message: string): Check => ({ name, status: "skipped", message });

/** Of a call that failed. */
export const failed = (name: string, error: unknown, fix: string): Check => ({
  ...fail(name, messageOf(error), fix),
  ...(exitCodeOf(error) === EXIT.unreachable ? { unreachable: true as const } : {}),
});

/** Where nothing else is wrong it says that something does not answer: it may be tried again later. */
export function exitCodeOfChecks(checks: readonly Check[]): ExitCode {
  const wrong = checks.filter(({ status }) => status === "fail");
  if (wrong.length === 0) return EXIT.done;
  return wrong.every(({ unreachable }) => unreachable) ? EXIT.unreachable : EXIT.failed;
}
