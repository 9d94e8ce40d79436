/**
 * The home of a throwaway server: removed with the server, and when its owner dies by the janitor of `supervisor.ts`, which
 * is there before the directory.
 */
import { readdir, rm } from "node:fs/promises";
import { HoldfastError } from "@holdfast/core";
import { clusterOf, type Home, makeTemporaryHome, openHome, temporaryDataDir, usable } from "./home.ts";
import { type Janitor, spawnJanitor } from "./supervisor.ts";

/** A home that is removed with its server, also when the owner is killed. */
export interface ThrowawayHome {
  readonly home: Home;
  remove(): Promise<void>;
}

export async function openThrowawayHome(dataDir: string | undefined): Promise<ThrowawayHome> {
  if (dataDir === undefined) return openTemporaryHome();
  await refuseUsed(dataDir);
  const home = await openHome(dataDir);
  return throwaway(home, spawnJanitor(home.cluster, home.dataDir));
}

/** The janitor comes first: an owner that is killed as soon as the directory is there has someone to remove it. */
async function openTemporaryHome(): Promise<ThrowawayHome> {
  const dataDir = await temporaryDataDir();
  const janitor = spawnJanitor(clusterOf(dataDir), dataDir);
  try {
    return throwaway(await makeTemporaryHome(dataDir), janitor);
  } catch (error) {
    await rm(dataDir, { recursive: true, force: true });
    await janitor.dismiss();
    throw error;
  }
}

function throwaway(home: Home, janitor: Janitor): ThrowawayHome {
  return {
    home,
    async remove() {
      // Processes of a killed server may still write their last files.
      await rm(home.dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
      await janitor.dismiss();
    },
  };
}

async function refuseUsed(dataDir: string): Promise<void> {
  const content = await usable(dataDir, () =>
    readdir(dataDir).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return [];
      throw error;
    }),
  );
  if (content.length === 0) return;
  throw new HoldfastError(
    "DATA_DIR_UNUSABLE",
    `The directory ${dataDir} would be deleted with all its contents when the throwaway server stops; name a new or empty one.`,
  );
}
