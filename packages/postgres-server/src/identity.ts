/** The user that Postgres programs run as: ourselves, or as root the owner of the cluster or an unprivileged user. */
import { chown } from "node:fs/promises";
import { type RunAs, runCommand } from "./commands.ts";

/** The user that Postgres runs as. */
export interface Identity extends RunAs {
  readonly uid: number;
  readonly gid: number;
  /** True when we are root and Postgres, which refuses to run as root, runs as another user. */
  readonly switched: boolean;
}

/** `nobody` on Linux; on macOS `_postgres`, which every installation has. */
const UNPRIVILEGED_ID = process.platform === "darwin" ? 216 : 65_534;

/** The current user; as root the owner of an existing cluster, or else an unprivileged user. */
export function postgresIdentity(clusterOwner?: { readonly uid: number; readonly gid: number }): Identity {
  const uid = process.geteuid?.() ?? 0;
  const gid = process.getegid?.() ?? 0;
  if (uid !== 0 || process.platform === "win32") return { uid, gid, switched: false, spawnAs: {} };
  const other = clusterOwner && clusterOwner.uid !== 0 ? clusterOwner : { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID };
  const as = { uid: other.uid, gid: other.gid };
  return { ...as, switched: true, spawnAs: as };
}

/** Ourselves, for programs that run with our own rights. */
export function ownIdentity(): Identity {
  return { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0, switched: false, spawnAs: {} };
}

/** Gives a path to the user that Postgres runs as; nothing to do when that is ourselves. */
export async function giveTo(identity: Identity, path: string): Promise<void> {
  if (identity.switched) await chown(path, identity.uid, identity.gid);
}

/** Whether that user can enter a directory, by trying: access lists and network file systems have their own rules. */
export async function canEnter(identity: Identity, dir: string, directoryFd?: number): Promise<boolean> {
  if (!identity.switched) return true;
  const { code } = await runCommand("/bin/sh", ["-c", 'cd -- "$1"', "sh", dir], identity, directoryFd);
  return code === 0;
}
