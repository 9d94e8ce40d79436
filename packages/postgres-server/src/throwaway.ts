import { readdir, rm } from "node:fs/promises";
import { HoldfastError } from "@holdfast/core";
import { type Home, openHome, openTemporaryHome, usable } from "./home.ts";
import { type Janitor, spawnJanitor } from "./supervisor.ts";

/** A home that is removed with its server, also when the owner is killed. */
export interface ThrowawayHome {
  readonly home: Home;
  remove(): Promise<void>;
}

export async function openThrowawayHome(dataDir: string | undefined): Promise<ThrowawayHome> {
  if (dataDir !== undefined) await refuseUsed(dataDir);
  const home = dataDir === undefined ? await openTemporaryHome() : await openHome(dataDir);
  const janitor: Janitor = spawnJanitor(home.cluster, home.dataDir);
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
