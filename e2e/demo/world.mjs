/** The processes of the demo, in a temporary folder. However the demo ends, nothing of them is left. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gatewayApi } from "../support/api.mjs";
import { Child, endAll } from "../support/child.mjs";
import { startGateway } from "../support/gateway.mjs";
import { openTap } from "../support/tap.mjs";
import { openDiary } from "./diary.mjs";
import { temporaryFolder } from "./temporary-folder.mjs";

/** @typedef {Awaited<ReturnType<typeof openWorld>>} DemoWorld */

/** Shorter than usual, so that a demo of seconds shows what matters: the lease is no longer than the blocking step. */
export const heartbeatMs = 500;
export const leaseMs = 4000;

export async function openWorld() {
  const folder = temporaryFolder("holdfast-demo-");
  /** @type {(() => Promise<unknown>)[]} */
  const cleanUps = [];
  /** @type {Promise<void> | undefined} */
  let closing;
  const close = () => {
    closing ??= (async () => {
      await Promise.allSettled(cleanUps.map((cleanUp) => cleanUp()));
      await endAll();
      await folder.remove();
    })();
    return closing;
  };
  try {
    const diary = openDiary(join(folder.path, "diary.jsonl"));
    const gateway = await startGateway({
      dataDir: join(folder.path, "gateway"),
      heartbeat: `${heartbeatMs}ms`,
      lease: `${leaseMs}ms`,
      retryBase: "500ms",
    });
    cleanUps.push(() => gateway.child.stop());
    // The app talks to the gateway through a proxy that lets everything pass and shows what does.
    const tap = await openTap(gateway.url);
    cleanUps.push(() => tap.stop());
    const startApp = async () => {
      const app = new Child(fileURLToPath(new URL("./app.mjs", import.meta.url)), {
        name: "The app",
        env: { HOLDFAST_DEV: tap.url, SHOP_DIARY: diary.path },
      });
      cleanUps.push(() => app.stop());
      await app.message((message) => message.connected === true);
      return app;
    };
    return { gateway, api: gatewayApi(gateway.url), tap, diary, startApp, close };
  } catch (error) {
    await close();
    throw error;
  }
}
