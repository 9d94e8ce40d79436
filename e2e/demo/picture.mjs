/**
 * Makes `docs/images/dashboard.png`: a run of the dashboard's own example, as the page shows it. `npm run docs:picture`
 * after the page has changed.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { gatewayApi, isOver } from "../support/api.mjs";
import { openBrowser } from "../support/browser.mjs";
import { Child } from "../support/child.mjs";
import { startGateway } from "../support/gateway.mjs";

const here = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));

const gateway = await startGateway({ args: ["--store", "memory"], retryBase: "200ms" });
const env = { HOLDFAST_DEV: gateway.url, HOLDFAST_STALL_THRESHOLD: "200ms" };
const app = new Child(here("../fixtures/dashboard-app.mjs"), { name: "app", env });
const { browser, close } = await openBrowser();
try {
  await app.message((message) => message.ready === true);
  const api = gatewayApi(gateway.url);
  const [eventId = ""] = await api.send({ name: "shop/order", data: { order: 7, blockMs: 700, coolMs: 3_000 } });
  const [run] = await api.runsOf(eventId);
  if (run === undefined) throw new Error("The event started no run.");
  while (!isOver(await api.run(run.id))) await sleep(100);
  const page = await browser.newPage({ viewport: { width: 1180, height: 700 }, colorScheme: "light" });
  await page.goto(`${gateway.url}/ui/runs/${run.id}`);
  await page.locator(".timeline svg").waitFor();
  // Where the source lies is of no interest.
  await page.evaluate(
    "for (const place of document.querySelectorAll('.place')) place.textContent = place.textContent.replace(/^.*\\//, 'src/')",
  );
  await page.screenshot({ path: here("../../docs/images/dashboard.png") });
  console.log("docs/images/dashboard.png is written.");
} finally {
  await close();
  await app.kill();
  await gateway.child.stop();
}
