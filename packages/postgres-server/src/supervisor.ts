/** Makes a server end with its owner, even after kill -9: a small shell process between the two watches a pipe. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { cleanEnvironment } from "./commands.ts";
import type { Identity } from "./identity.ts";

/**
 * Runs the server and watches a pipe (descriptor 3) that only the owner holds open. When the owner is gone, however it
 * ended, the pipe ends: the server is told to stop, at first politely, and again each second (a server that has only
 * just begun does not hear it yet). At last it is killed, and on Linux its children with it: one that is stopped would
 * stay. $1 is the first signal, the rest the command.
 * The server does not inherit the pipe. The shell ends when the server has, with its exit code.
 * Its traps come after the forks: a child that has not run yet would take a signal for its parent's and lose it, and
 * the shell would wait for a watcher that never received the signal to end.
 */
const SUPERVISOR = `
first=$1; shift
"$@" 3<&- </dev/null &
server=$!
(
  while read -r _ <&3; do :; done
  trap '' TERM
  n=0
  while kill -0 "$server"; do
    if [ "$n" -lt 10 ]; then kill -"$first" "$server"
    elif [ "$n" -lt 15 ]; then kill -QUIT "$server"
    else
      children=$(for stat in /proc/[0-9]*/stat; do
        read -r pid _ _ parent _ <"$stat" && [ "$parent" = "$server" ] && echo "$pid"
      done)
      kill -KILL "$server" $children
    fi
    n=$((n + 1))
    sleep 1
  done
) >/dev/null 2>&1 &
watcher=$!
trap : HUP INT TERM QUIT
exec 3<&-
while :; do
  wait "$server"; code=$?
  kill -0 "$server" 2>/dev/null || break
done
kill "$watcher" 2>/dev/null
wait "$watcher" 2>/dev/null
exit "$code"
`;

/**
 * Removes the directory $2 when the owner is gone: waits for the server of the cluster $1 to end, then for whatever
 * else still writes there. It ends without doing anything when the owner says so by a line.
 */
const JANITOR = `
trap '' HUP INT TERM QUIT
read -r line <&3 && exit 0
cluster=$1
n=0
while [ "$n" -lt 20 ] && read -r pid 2>/dev/null <"$cluster/postmaster.pid" && kill -0 "$pid" 2>/dev/null; do
  n=$((n + 1)); sleep 1
done
segment=$(sed -n '7s/.* //p' "$cluster/postmaster.pid" 2>/dev/null)
[ -n "$segment" ] && ipcrm -m "$segment" 2>/dev/null
n=0
while [ "$n" -lt 20 ]; do
  rm -rf -- "$2"
  [ "$n" -ge 1 ] && [ ! -e "$2" ] && break
  n=$((n + 1)); sleep 1
done
`;

const windows = process.platform === "win32";

interface SupervisedOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly identity: Identity;
  /** Open file for the server's standard output and error. */
  readonly logFd: number;
  /** Handed on as descriptor 4. */
  readonly directoryFd: number | undefined;
  /** What the server gets first when the owner is gone: INT is a fast shutdown, QUIT an immediate one. */
  readonly orphanSignal: "INT" | "QUIT";
}

/** Starts a server that ends when this process does. On Windows it is a direct child without that promise. */
export function spawnSupervised(options: SupervisedOptions): ChildProcess {
  const { command, args, identity, logFd, directoryFd, orphanSignal } = options;
  const common = { env: cleanEnvironment(), windowsHide: true, ...identity.spawnAs };
  const child = windows
    ? spawn(command, [...args], { ...common, stdio: ["ignore", logFd, logFd] })
    : spawn("/bin/sh", ["-c", SUPERVISOR, "holdfast-postgres", orphanSignal, command, ...args], {
        ...common,
        cwd: "/",
        // A session of its own: a terminal's Ctrl-C must not reach the server before its owner has finished with it.
        detached: true,
        stdio: ["ignore", logFd, logFd, "pipe", directoryFd ?? "ignore"],
      });
  letGo(child);
  return child;
}

/** Removes a throwaway server's directory when this process ends without having done so. */
export interface Janitor {
  /** The owner has removed it itself. */
  dismiss(): Promise<void>;
}

export function spawnJanitor(cluster: string, dir: string): Janitor {
  if (windows) return { dismiss: async () => {} };
  const child = spawn("/bin/sh", ["-c", JANITOR, "holdfast-janitor", cluster, dir], {
    cwd: "/",
    env: cleanEnvironment(),
    detached: true,
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
  letGo(child);
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  return {
    async dismiss() {
      child.ref();
      (child.stdio[3] as Socket | null)?.write("done\n");
      await ended;
    },
  };
}

/** A child and its pipe do not keep the owner's event loop alive, and a broken pipe is no crash. */
function letGo(child: ChildProcess): void {
  child.unref();
  const pipe = child.stdio[3] as Socket | null | undefined;
  pipe?.unref?.();
  pipe?.on("error", () => {});
}
