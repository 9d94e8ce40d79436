/** Runs short programs (initdb, pg_ctl, ps) to their end, as the user that may. */
import { spawn } from "node:child_process";
import { systemTimers, type TimerHandle } from "@holdfast/core";

export interface CommandResult {
  /** Exit code; 127 when the program could not be started; 128 + n when a signal ended it. */
  readonly code: number;
  /** Standard output and error, in order, at most 64 KiB. */
  readonly output: string;
}

/** Who runs a program. */
export interface RunAs {
  /** Spread into spawn options. */
  readonly spawnAs: { readonly uid?: number; readonly gid?: number };
}

const MAX_OUTPUT_CHARS = 64 * 1024;
/** What a program that is told to end may take. */
const ENDING_MS = 3_000;

/**
 * Runs a short program to its end as some user; a failing program is a result, not an exception.
 * @param directoryFd handed on as descriptor 4
 * @param signal ends the program; it is killed when it has not ended by itself soon
 */
export function runCommand(
  command: string,
  args: readonly string[],
  identity: RunAs,
  directoryFd?: number,
  signal?: AbortSignal,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    let output = "";
    const child = spawn(command, [...args], {
      cwd: process.platform === "win32" ? undefined : "/",
      env: cleanEnvironment(),
      stdio: ["ignore", "pipe", "pipe", "ignore", directoryFd ?? "ignore"],
      windowsHide: true,
      ...identity.spawnAs,
    });
    const collect = (text: string): void => {
      if (output.length < MAX_OUTPUT_CHARS) output += text;
    };
    child.stdout?.setEncoding("utf8").on("data", collect);
    child.stderr?.setEncoding("utf8").on("data", collect);
    // An owner that may give it up may end at once, too.
    const kill = (): void => void child.kill("SIGKILL");
    if (signal) process.prependOnceListener("exit", kill);
    let killing: TimerHandle | undefined;
    const end = (): void => {
      child.kill("SIGTERM");
      killing ??= systemTimers.set(ENDING_MS, kill);
    };
    const settle = (result: CommandResult): void => {
      process.off("exit", kill);
      signal?.removeEventListener("abort", end);
      killing?.cancel();
      resolve(result);
    };
    signal?.addEventListener("abort", end);
    if (signal?.aborted) end();
    child.once("error", (error) => settle({ code: 127, output: error.message }));
    child.once("close", (code) => settle({ code: code ?? 128, output: output.trim() }));
  });
}

/** What these names hold is handed on; the rest of the owner's environment (keys, PG* variables) is none of Postgres's business. */
const KEPT_VARIABLES = ["PATH", "TMPDIR", "TEMP", "TMP", "SystemRoot", "HOLDFAST_TOOLING_RUN"];

/** Environment for Postgres programs: messages in English, times in UTC, nothing else of ours. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { LC_ALL: "C", TZ: "UTC" };
  for (const name of KEPT_VARIABLES) {
    if (process.env[name] !== undefined) env[name] = process.env[name];
  }
  return env;
}
