import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { startGateway } from "../support/gateway.mjs";
import { callJson } from "../support/graph-shapes.ts";
import { accessibilityProblems, closePage, NARROW, overflow, useDashboard, WIDE } from "./dashboard.ts";
import { inWorld } from "./world.ts";

const dashboard = useDashboard();
const mode = { name: "dashboard", extensions: true };
const graph = JSON.parse(readFileSync(new URL("../fixtures/onboarding-graph.json", import.meta.url), "utf8"));

const state = (page: Page, node: string) => page.locator(`.node[data-node="${node}"]`).getAttribute("data-state");

test("a graph is drawn, published, started by a form of its input, and followed node by node", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("dashboard-app.mjs");
    const page = await dashboard.open(`${world.url}/ui/graphs`);
    await page.getByRole("heading", { name: "No graphs yet" }).waitFor();
    await callJson(world.url, "PUT", "/v1/graphs/onboarding", { graph });
    await page.getByRole("link", { name: /Onboarding of a customer/ }).click();
    await expect.poll(() => page.locator(".node").count()).toBe(graph.nodes.length);
    expect(await page.locator(".edges path[marker-end]").count()).toBe(graph.edges.length);
    await page.getByText("Nothing of it has been published").waitFor();
    expect(await page.getByRole("button", { name: "Start" }).count()).toBe(0);
    await page.locator('.node[data-node="paid"]').click();
    await page.locator("#node-paid").getByText("shop/paid").waitFor();
    await page.getByRole("button", { name: "Publish the draft" }).click();
    await page.getByRole("link", { name: "Version 1, published" }).waitFor();

    await page.getByRole("button", { name: "Start" }).click();
    const dialog = page.getByRole("dialog");
    expect(await accessibilityProblems(page)).toEqual([]);
    await dialog.getByLabel("customer").fill("Ada");
    await dialog.getByLabel("seats").fill("many");
    await dialog.getByLabel("plan").selectOption("team");
    await dialog.getByRole("button", { name: "Start version 1" }).click();
    await dialog.getByText("“seats” must be a number.").waitFor();
    await dialog.getByLabel("seats").fill("20");
    await dialog.getByRole("button", { name: "As JSON" }).click();
    expect(JSON.parse(await dialog.getByLabel("Input, as JSON").inputValue())).toEqual({
      ...{ customer: "Ada", plan: "team", seats: 20, vip: false },
    });
    await dialog.getByRole("button", { name: "Start version 1" }).click();

    await expect.poll(() => state(page, "paid")).toBe("running");
    expect(await Promise.all(["size", "seat", "welcome", "mail"].map((node) => state(page, node)))).toEqual([
      "done",
      "done",
      "skipped",
      "waiting",
    ]);
    await page.locator('.node[data-node="seat"] .iterations').getByText("3/3").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.evaluate("globalThis.wasHere = true");
    await world.api.send({ name: "shop/paid", data: {} });
    await expect.poll(() => state(page, "end")).toBe("done");
    await page.locator("#node-mail summary").click();
    await page.locator("#node-mail").getByText("mailed").waitFor();
    expect(await page.evaluate("globalThis.wasHere"), "without a reload").toBe(true);
    const address = page.url();
    await page.getByRole("heading", { level: 1, name: "onboarding, version 1" }).waitFor();
    const input = page.locator("section", { has: page.locator("#input") });
    const shown = JSON.parse((await input.locator("pre").textContent()) ?? "");
    expect(shown, "without the graph").toMatchObject({ customer: "Ada", seats: 20 });
    await input.getByText("The whole event, with the definition of the graph").click();
    await input.getByRole("figure", { name: "event" }).getByText("holdfast/graph.requested").waitFor();

    await page.getByRole("button", { name: "As test" }).click();
    await dialog.getByText("new FunctionTest(runner").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Close" }).last().click();

    const mail = page.locator("#steps").locator("xpath=..").locator("li", { hasText: "Mail the manager" });
    await mail.locator("summary").click();
    await mail.getByRole("button", { name: "Rerun from here …" }).click();
    await page.getByRole("heading", { name: "Rerun from “mail”" }).waitFor();
    await dialog.getByLabel("The step gives this result").check();
    const path = `/v1/runs/${address.split("/").at(-1)}/graph`;
    const { nodes } = (await callJson(world.url, "GET", path)) as { nodes: { id: string; output: unknown }[] };
    const output = nodes.find(({ id }) => id === "mail")?.output;
    expect(JSON.parse(await dialog.getByLabel("Result, as JSON").inputValue()), "as the node gave it").toEqual(output);
    await dialog.getByRole("button", { name: "Rerun" }).click();
    await page.getByText("its result was given").waitFor();
    await expect.poll(() => state(page, "end")).toBe("done");
    await page.goto(address);

    await page.goto(`${world.url}/ui/runs`);
    const choice = page.locator("label", { hasText: /^Graph/ }).locator("select");
    const listed = page.locator(".run-row", { hasText: "onboarding, version 1" });
    await expect.poll(() => listed.count()).toBe(2);
    await world.api.send({ name: "shop/quick", data: { n: 1 } });
    await callJson(world.url, "PUT", "/v1/graphs/other", { graph: { ...graph, id: "other", title: "Other" } });
    await page.reload();
    await expect.poll(() => page.locator(".run-row").count()).toBe(3);
    await choice.selectOption({ label: "onboarding" });
    await expect.poll(() => page.locator(".run-row").count()).toBe(2);
    expect(new URL(page.url()).search).toBe("?graph=onboarding");
    expect(await accessibilityProblems(page)).toEqual([]);
    // Without it only failed runs are run again.
    const completed = page.getByRole("checkbox", { name: "Completed" });
    await completed.check();
    await page.getByRole("button", { name: "Rerun these …" }).click();
    await dialog.getByText("1 run fits. ").waitFor();
    await dialog.getByText("1 run that has been rerun already is left out.").waitFor();
    await dialog.getByRole("button", { name: "Do nothing" }).click();
    await completed.uncheck();
    await choice.selectOption({ label: "other" });
    await page.getByRole("heading", { name: "No run fits" }).waitFor();
    await page.goto(address);

    await page.getByRole("link", { name: "onboarding, version 1" }).click();
    await page.getByText("A version never changes.").waitFor();
    await page.locator(".run-row").getByText("Completed").first().waitFor();
    await closePage(page);
    const pages = ["graphs", "graphs/onboarding", "runs", "runs?graph=onboarding"].map(
      (one) => `${world.url}/ui/${one}`,
    );
    for (const path of [address, ...pages]) {
      for (const viewport of [WIDE, NARROW]) {
        for (const theme of ["light", "dark"] as const) {
          const one = await dashboard.open(path, { viewport, theme });
          await one.locator(".node, .fn-row, .run-row").first().waitFor();
          expect([path, await overflow(one), await accessibilityProblems(one)]).toEqual([path, 0, []]);
          await closePage(one);
        }
      }
    }
    await app.close();
  });
});

const DRAFT = {
  ...{ id: "draft", title: "A draft" },
  nodes: [
    { id: "start", type: "start" },
    { id: "nap", type: "delay", title: "A nap", config: { duration: "soon" } },
    { id: "lost", type: "javascript", config: { code: "return 1" } },
    { id: "end", type: "end" },
  ],
  edges: [
    { from: "start", to: "nap" },
    { from: "nap", to: "end" },
  ],
};

test("the problems of a draft are listed and marked, and it is published once there are none", async () => {
  const { child, url } = await startGateway({ args: ["--store", "memory"] });
  try {
    await callJson(url, "PUT", "/v1/graphs/draft", { graph: DRAFT });
    const page = await dashboard.open(`${url}/ui/graphs/draft`);
    const problems = page.locator("section", { has: page.locator("#problems") });
    await problems.getByRole("heading", { name: "2 problems keep the draft from being published" }).waitFor();
    expect(await page.title()).toBe("A draft · Graph · Holdfast");
    await problems.getByText('It is not a duration: "soon"').waitFor();
    expect(await state(page, "nap")).toBe("wrong");
    expect(await state(page, "end")).toBeNull();
    const publish = page.getByRole("button", { name: "Publish the draft" });
    expect(await publish.isDisabled()).toBe(true);
    for (const viewport of [NARROW, WIDE]) {
      await page.setViewportSize(viewport);
      expect([await overflow(page), await accessibilityProblems(page)]).toEqual([0, []]);
    }
    await problems.getByRole("link", { name: "A nap" }).click();
    await page.locator("#node-nap[open]").waitFor();
    const nodes = DRAFT.nodes
      .filter(({ id }) => id !== "lost")
      .map((node) => (node.id === "nap" ? { ...node, config: { duration: "1s" } } : node));
    await callJson(url, "PUT", "/v1/graphs/draft", { graph: { ...DRAFT, nodes } });
    await expect.poll(() => problems.count()).toBe(0);
    await publish.click();
    await page.getByRole("link", { name: "Version 1, published" }).waitFor();
    await closePage(page);
  } finally {
    await child.stop();
  }
});

const MAILS = {
  ...{ id: "mails", title: "Mails" },
  nodes: [
    { id: "start", type: "start" },
    { id: "each", type: "loop", config: { items: "{{ctx.input.items}}" } },
    { id: "mail", type: "javascript", config: { code: "return 1" } },
    { id: "reply", type: "waitForEvent", config: { event: "mails/reply", timeout: "1d" } },
    { id: "end", type: "end" },
  ],
  edges: [
    { from: "start", to: "each" },
    { from: "each", handle: "loop", to: "mail" },
    { from: "mail", to: "reply" },
    { from: "reply", to: "each" },
    { from: "each", handle: "done", to: "end" },
  ],
};

test("a loop has its progress while it runs, and what had begun when the run ended is not called not reached", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("dashboard-app.mjs");
    const started = await callJson(world.url, "POST", "/v1/graph-tests", { graph: MAILS, input: { items: [1, 2, 3] } });
    const { runId } = started as { runId: string };
    const page = await dashboard.open(`${world.url}/ui/runs/${runId}`);
    await page.locator("#node-each").getByText("running · loop · 0 of 3 iterations").waitFor();
    // The wait is stored: an event that came before it would not end it.
    await expect.poll(() => state(page, "reply")).toBe("running");
    expect(await state(page, "mail")).toBe("running");
    await world.api.send({ name: "mails/reply", data: {} });
    await page.locator("#node-each").getByText("running · loop · 1 of 3 iterations").waitFor();
    const drawn = (node: string) => page.locator(`.node[data-node="${node}"] .iterations`).textContent();
    await expect.poll(() => drawn("mail")).toBe("2/3");
    expect(await drawn("each")).toBe("1/3");
    await callJson(world.url, "POST", `/v1/runs/${runId}/cancel`, {});
    await page.locator("#node-each").getByText("not finished when the run ended · loop · 1 of 3 iterations").waitFor();
    expect(await Promise.all(["each", "mail", "reply", "end"].map((node) => state(page, node)))).toEqual([
      ...["unfinished", "unfinished", "unfinished", "dead"],
    ]);
    expect(await accessibilityProblems(page)).toEqual([]);
    await closePage(page);
    await app.close();
  });
});
