/** Ends the processes that a test started, also when the test process is killed: a helper holds a pipe to us. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";

/**
 * Kills what is left when this process is gone, however it ended: a shell at the other end of a pipe that only we hold.
 * Lines `+ pid` and `- pid` name the process groups that live.
 */
const SCRIPT = `
trap '' HUP INT TERM QUIT
groups=
while read -r sign pid; do
  rest=
  for each in $groups; do [ "$each" = "$pid" ] || rest="$rest $each"; done
  groups=$rest
  [ "$sign" = + ] && groups="$groups $pid"
done
for each in $groups; do kill -KILL "-$each" || kill -KILL "$each"; done 2>/dev/null
`;

let helper: ChildProcess | undefined;
const groups = new Set<number>();

/** Process id of the helper, if there is one. */
export const helperPid = (): number | undefined => helper?.pid;

/** From now on this group leader and its group end with us. */
export function reap(pid: number): void {
  groups.add(pid);
  if (process.platform === "win32") {
    killAtExit();
    return;
  }
  tell(`+ ${pid}`);
}

export function spare(pid: number): void {
  groups.delete(pid);
  if (helper) tell(`- ${pid}`);
}

function tell(line: string): void {
  helper ??= startHelper();
  (helper.stdin as Socket | null)?.write(`${line}\n`);
}

function startHelper(): ChildProcess {
  const child = spawn("/bin/sh", ["-c", SCRIPT, "holdfast-reaper"], {
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  child.unref();
  child.on("error", () => {});
  const pipe = child.stdin as Socket | null;
  pipe?.on("error", () => {});
  pipe?.unref();
  return child;
}

let exitHookSet = false;

/** Where there is no shell: at least when we end in the ordinary way. */
function killAtExit(): void {
  if (exitHookSet) return;
  exitHookSet = true;
  process.on("exit", () => {
    for (const pid of groups) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended.
      }
    }
  });
}
