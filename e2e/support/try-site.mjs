/**
 * The documentation's site in a real browser, from a server of plain files: it asks no other host for anything, its search
 * finds what is written, its pages fit a telephone.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { openBrowser } from "./browser.mjs";

const dist = fileURLToPath(new URL("../../packages/site/dist", import.meta.url));
/** @type {Record<string, string>} */
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };

const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url ?? "/", "http://localhost");
  const file = join(dist, decodeURI(pathname.endsWith("/") ? `${pathname}index.html` : pathname));
  const bytes = await readFile(file).catch(() => null);
  if (bytes === null) response.writeHead(404).end();
  else response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" }).end(bytes);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
const address = server.address();
assert(typeof address === "object" && address !== null);
const origin = `http://127.0.0.1:${address.port}`;
const { browser, close } = await openBrowser();
try {
  const page = await browser.newPage();
  /** @type {string[]} */
  const wrong = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith("data:")) wrong.push(`asked ${request.url()}`);
  });
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("response", (response) => {
    if (response.status() >= 400) wrong.push(`${response.status()} for ${response.url()}`);
  });
  await page.goto(`${origin}/`, { waitUntil: "networkidle" });
  assert.doesNotMatch(
    (await page.locator("#app").textContent()) ?? "",
    /\{\{/,
    "expressions that nothing has evaluated",
  );
  await page.keyboard.press("/");
  await page.locator("#localsearch-input").fill("lease");
  const found = page.locator("#localsearch-list a");
  await found.first().waitFor();
  const first = await found.first().getAttribute("href");
  await found.first().click();
  await page.waitForURL((url) => first !== null && url.pathname === new URL(first, origin).pathname);
  await page.setViewportSize({ width: 390, height: 800 });
  for (const path of ["index", "functions", "errors", "http-reference", "configuration", "performance", "sagas"]) {
    await page.goto(`${origin}/${path}.html`, { waitUntil: "networkidle" });
    const wide = await page.evaluate("document.documentElement.scrollWidth > innerWidth + 1");
    if (wide) wrong.push(`${path}: wider than a telephone`);
    // Comments are for those who write pages.
    if ((await page.content()).includes("&lt;!--")) wrong.push(`${path}: shows a comment`);
  }
  assert.deepEqual(wrong, []);
} finally {
  await close();
  server.close();
}
