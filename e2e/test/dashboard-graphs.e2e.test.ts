import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
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
    await page.locator(".iterations").getByText("3/3").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.evaluate("globalThis.wasHere = true");
    await world.api.send({ name: "shop/paid", data: {} });
    await expect.poll(() => state(page, "end")).toBe("done");
    await page.locator("#node-mail summary").click();
    await page.locator("#node-mail").getByText("mailed").waitFor();
    expect(await page.evaluate("globalThis.wasHere"), "without a reload").toBe(true);
    const address = page.url();

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
