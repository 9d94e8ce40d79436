import type { Locator, Page, Route } from "playwright-core";
import { expect, test } from "vitest";
import { startGateway } from "../support/gateway.mjs";
import { callJson } from "../support/graph-shapes.ts";
import { accessibilityProblems, closePage, NARROW, overflow, useDashboard } from "./dashboard.ts";
import { inWorld } from "./world.ts";

const dashboard = useDashboard();
const mode = { name: "dashboard", extensions: true };

test("an event is sent from a form that the schema in the app's code makes, which says what does not fit", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("schema-app.mjs");
    const page = await dashboard.open(`${world.url}/ui/events`);
    await page.getByRole("button", { name: "Send" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("shop/ordered");
    await dialog.getByLabel("Name").blur();
    await dialog.getByLabel(/^customer · who pays/).fill("ada");
    await expect.poll(() => options(dialog.getByLabel("size"))).toEqual(["–", "S", "L"]);
    expect(await dialog.getByLabel(/^count/).inputValue()).toBe("1");
    expect(await accessibilityProblems(page)).toEqual([]);
    const send = dialog.getByRole("button", { name: "Send" });
    await send.click();
    await dialog.getByText("“size” is required.").waitFor();
    await dialog.getByLabel("size").selectOption("L");
    await send.click();
    await dialog.getByText(/^“customer”: .*email/).waitFor();
    await dialog.getByLabel(/^customer/).fill("ada@example.com");
    await dialog.getByLabel(/^count/).fill("0");
    await send.click();
    await dialog.getByText(/^“count”: /).waitFor();
    await dialog.getByLabel(/^count/).fill("2");
    await dialog.getByLabel(/^lines/).fill('[{ "article": 7 }]');
    await send.click();
    await dialog.getByText(/^“lines\.0\.article”: /).waitFor();
    await dialog.getByLabel(/^lines/).fill('[{ "article": "lamp" }]');
    // Nothing of it was sent.
    const before = (await (await fetch(`${world.url}/v1/events`)).json()) as { events: unknown[] };
    expect(before.events).toEqual([]);
    await send.click();
    await page.getByRole("heading", { name: "What it started" }).waitFor();
    await page.locator(".run-row").getByText("Completed").waitFor();
    await page.locator(".run-row").click();
    await page.locator("section", { hasText: "Output" }).last().getByText("lamp").waitFor();
    await closePage(page);
    await app.close();
  });
});

test("a function is started alone from the form of its event, whose schema the client has", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("schema-app.mjs");
    const page = await dashboard.open(`${world.url}/ui/functions/shop-return`, { viewport: NARROW, theme: "dark" });
    await page.getByRole("button", { name: "Start" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("How").selectOption("");
    await dialog.getByLabel("order").fill("x");
    await dialog.getByRole("button", { name: "Start", exact: true }).click();
    await dialog.getByText(/^“order”: /).waitFor();
    expect([await overflow(page), await accessibilityProblems(page)]).toEqual([0, []]);
    await dialog.getByRole("button", { name: "As JSON" }).click();
    await dialog.getByLabel("Data, as JSON").fill('{ "order": 7 }');
    await dialog.getByRole("button", { name: "Start", exact: true }).click();
    await dialog.getByText(/^“order”: .*string/).waitFor();
    await dialog.getByLabel("Data, as JSON").fill('{ "order": "A-17" }');
    await dialog.getByRole("button", { name: "Start", exact: true }).click();
    await page.locator("section", { hasText: "Output" }).last().getByText("A-17").waitFor();
    await closePage(page);
    await app.close();
  });
});

/** Bodies of what the page asks a gateway to do. */
function watchPosts(page: Page): string[] {
  const posts: string[] = [];
  page.on("request", (request) => {
    if (request.method() === "POST") posts.push(new URL(request.url()).pathname);
  });
  return posts;
}

const runCount = async (url: string): Promise<number> => {
  const { runs } = (await (await fetch(`${url}/v1/runs?limit=100`)).json()) as { runs: unknown[] };
  return runs.length;
};

async function openFork(page: Page, step: string): Promise<void> {
  const item = page.locator("#steps").locator("xpath=..").locator("li", { hasText: step });
  await item.locator("summary").click();
  await item.getByRole("button", { name: "Rerun from here …" }).click();
  await page.getByRole("heading", { name: "Rerun from “count”" }).waitFor();
}

/** Of a graph that it publishes. */
async function openGraphStart(page: Page, url: string): Promise<void> {
  const nodes = [
    { id: "start", type: "start" },
    { id: "end", type: "end" },
  ];
  const graph = { id: "short", title: "Short", nodes, edges: [{ from: "start", to: "end" }] };
  await callJson(url, "PUT", "/v1/graphs/short", { graph });
  await callJson(url, "POST", "/v1/graphs/short/publish", {});
  await page.goto(`${url}/ui/graphs/short`);
  await page.getByRole("button", { name: "Start …" }).click();
}

test("a double click asks once: a rerun, an event, a function alone, a fork, a graph", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("dashboard-app.mjs");
    await world.api.send({ name: "shop/quick", data: {} });
    const page = await dashboard.open(`${world.url}/ui/runs`);
    const posts = watchPosts(page);
    await page.locator(".run-row").getByText("Completed").waitFor();
    await page.locator(".run-row").click();
    const first = page.url();
    await page.getByRole("button", { name: "Rerun", exact: true }).dblclick();
    await page.waitForURL((url) => url.href !== first);
    await page.locator(".summary").getByText("Completed").waitFor();
    expect([posts.length, await runCount(world.url)]).toEqual([1, 2]);

    for (const how of ["shop/quick", ""]) {
      await page.goto(`${world.url}/ui/functions/shop-quick`);
      await page.getByRole("button", { name: "Start" }).dblclick();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("How").selectOption(how);
      await dialog.getByRole("button", { name: how === "" ? "Start" : "Send", exact: true }).dblclick();
      await page.waitForURL(/\/ui\/runs\//);
      await page.locator(".summary").getByText("Completed").waitFor();
    }
    expect([posts.length, await runCount(world.url)]).toEqual([3, 4]);

    const address = page.url();
    await openFork(page, "count");
    await page.getByRole("dialog").getByRole("button", { name: "Rerun", exact: true }).dblclick();
    await page.waitForURL((url) => url.href !== address);
    await page.locator(".summary").getByText("Completed").waitFor();
    await openGraphStart(page, world.url);
    await page.getByRole("dialog").getByRole("button", { name: "Start version 1" }).dblclick();
    await page.waitForURL(/\/ui\/runs\//);
    await page.locator(".summary").waitFor();
    expect([posts.length, await runCount(world.url)]).toEqual([5, 6]);
    await closePage(page);
    await app.close();
  });
});

test("the second click of a double click asks nothing where the first was answered before it", async () => {
  const gateway = await startGateway({ args: ["--store", "memory"] });
  try {
    const page = await dashboard.open(`${gateway.url}/ui/events`);
    const posts = watchPosts(page);
    await page.getByRole("button", { name: "Send" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("other/unheard");
    const send = dialog.getByRole("button", { name: "Send", exact: true });
    await send.click();
    const said = dialog.getByRole("status").getByRole("link");
    const first = await said.textContent();
    await send.hover();
    await page.mouse.down({ clickCount: 2 });
    await page.mouse.up({ clickCount: 2 });
    await send.click();
    await expect.poll(async () => (await said.count()) === 1 && (await said.textContent()) !== first).toBe(true);
    expect(posts).toEqual(["/v1/events", "/v1/events"]);
    await closePage(page);
  } finally {
    await gateway.child.stop();
  }
});

test("what is asked again because no answer came counts once", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("dashboard-app.mjs");
    await world.api.send({ name: "shop/quick", data: {} });
    const page = await dashboard.open(`${world.url}/ui/runs`);
    /** The gateway does the next of these, and its answer is lost. */
    const loseAnswer = async (path: string): Promise<void> => {
      const handle = async (route: Route): Promise<void> => {
        await route.fetch();
        await route.abort();
      };
      await page.route(path, handle, { times: 1 });
    };
    await page.locator(".run-row").getByText("Completed").waitFor();
    await page.locator(".run-row").click();
    const first = page.url();
    await loseAnswer("**/rerun");
    const rerun = page.getByRole("button", { name: "Rerun", exact: true });
    await rerun.click();
    await page.getByText("The gateway does not answer.").waitFor();
    await rerun.click();
    await page.waitForURL((url) => url.href !== first);
    await page.locator(".summary").getByText("Completed").waitFor();
    expect(await runCount(world.url)).toBe(2);

    for (const [how, path] of [
      ["shop/quick", "**/v1/events"],
      ["", "**/v1/functions/*/runs"],
    ] as const) {
      await page.goto(`${world.url}/ui/functions/shop-quick`);
      await page.getByRole("button", { name: "Start" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("How").selectOption(how);
      const send = dialog.getByRole("button", { name: how === "" ? "Start" : "Send", exact: true });
      await loseAnswer(path);
      await send.click();
      await dialog.getByText("The gateway does not answer.").waitFor();
      await send.click();
      await page.waitForURL(/\/ui\/runs\//);
      await page.locator(".summary").getByText("Completed").waitFor();
    }
    expect(await runCount(world.url)).toBe(4);

    const fourth = page.url();
    await openFork(page, "count");
    await loseAnswer("**/fork");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Rerun", exact: true }).click();
    await dialog.getByText("The gateway does not answer.").waitFor();
    await dialog.getByRole("button", { name: "Rerun", exact: true }).click();
    await page.waitForURL((url) => url.href !== fourth);
    await openGraphStart(page, world.url);
    await loseAnswer("**/v1/graphs/*/runs");
    await dialog.getByRole("button", { name: "Start version 1" }).click();
    await dialog.getByText("The gateway does not answer.").waitFor();
    await dialog.getByRole("button", { name: "Start version 1" }).click();
    await page.waitForURL(/\/ui\/runs\//);
    await page.locator(".summary").waitFor();
    expect(await runCount(world.url)).toBe(6);
    await closePage(page);
    await app.close();
  });
});

const options = (select: Locator): Promise<string[]> => select.locator("option").allTextContents();
