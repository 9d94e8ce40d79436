/** The page of a run that went wrong: what it says, and that it offers only what the gateway does. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { callJson } from "../support/graph-shapes.ts";
import { accessibilityProblems, closePage, NARROW, overflow, useDashboard, WIDE } from "./dashboard.ts";
import { inWorld, type World } from "./world.ts";

const dashboard = useDashboard();
const mode = { name: "dashboard", extensions: true };

/** Sends an event and gives the id of the run that it starts. */
async function start({ api }: World, name: string): Promise<string> {
  const [eventId = ""] = await api.send({ name: `shop/${name}`, data: {} });
  const [run] = await api.runsOf(eventId);
  return run?.id ?? "";
}

const open = ({ url }: World, id: string): Promise<Page> => dashboard.open(`${url}/ui/runs/${id}`);

const step = (page: Page, name: string) =>
  page
    .locator("#steps")
    .locator("xpath=..")
    .locator(".step", { has: page.getByText(name, { exact: true }) });

const focused = (page: Page): Promise<string> => page.evaluate("document.activeElement.tagName");

async function expectNoProblems(page: Page): Promise<void> {
  for (const viewport of [NARROW, WIDE]) {
    await page.setViewportSize(viewport);
    expect([viewport.width, await overflow(page), await accessibilityProblems(page)]).toEqual([viewport.width, 0, []]);
  }
}

test("what a run could not undo is said, and undone once it can be; nothing is offered that is refused", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("run-page-app.mjs");
    const id = await start(world, "saga");
    await world.ended(id);
    const page = await open(world, id);
    const notice = page.locator(".notice.bad");
    await notice
      .getByText("take money was not undone: its compensation failed with “Error: The bank is closed.”")
      .waitFor();
    await notice.getByText("Undone: reserve stock.").waitFor();
    expect(await page.title()).toBe("Failed: shop-saga · Run · Holdfast");
    expect(await page.getByRole("heading", { name: "Output" }).count(), "it gave none").toBe(0);
    expect(await page.getByRole("button", { name: "Resume" }).count()).toBe(0);
    const forks = async (): Promise<string[]> => {
      const names: string[] = [];
      for (const each of await page.locator("ol.steps > li").all()) {
        await each.locator("summary").click();
        const name = await each.locator(".step-name").textContent();
        if ((await each.getByRole("button", { name: "Rerun from here" }).count()) > 0) names.push(name ?? "");
      }
      return names;
    };
    // From the others a fork would keep what was undone.
    expect(await forks()).toEqual(["reserve stock"]);
    await expectNoProblems(page);
    for (const refused of ["take money", "ship"]) {
      const path = `${world.url}/v1/runs/${id}/fork`;
      const answer = await fetch(path, { method: "POST", body: JSON.stringify({ step: refused }) });
      expect(await answer.json()).toMatchObject({ code: "RUN_UNDONE" });
    }
    await app.ask("mend");
    await page.getByRole("button", { name: "Retry undoing" }).click();
    await page.getByText("Undone: take money, reserve stock.").waitFor();
    await page
      .getByText(/^What was not undone was tried again at .+ after it had failed with “Error: No courier\.”$/)
      .waitFor();
    await expect.poll(() => page.getByRole("button", { name: "Retry undoing" }).count()).toBe(0);
    expect(await page.locator(".notice.bad").count()).toBe(0);
    await expectNoProblems(page);
    await closePage(page);
    await app.close();
  });
});

test("a run that was resumed says when, and what it and its step had failed with", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("run-page-app.mjs");
    const id = await start(world, "print");
    await world.ended(id);
    await app.ask("mend");
    const page = await open(world, id);
    await page.getByText("In the step print").waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.locator(".summary").getByText("Completed").waitFor();
    await page.getByText(/^Resumed at .+ after it had failed with “Error: The printer is out of paper\.”$/).waitFor();
    // The button that had it is gone.
    await expect.poll(() => focused(page)).toBe("H1");
    await step(page, "print").getByText("step · failed before the run went on").click();
    await step(page, "print")
      .getByRole("heading", { name: /^Failed, .+, before the run went on$/ })
      .waitFor();
    expect(await page.locator(".timeline .bar.failed").count()).toBe(1);
    await expect.poll(() => page.title()).toBe("Completed: shop-print · Run · Holdfast");
    await expectNoProblems(page);
    await closePage(page);
    await app.close();
  });
});

test("of many steps those that went like most are folded; they are unfolded, found, and opened from the timeline", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("run-page-app.mjs");
    const id = await start(world, "many");
    await world.ended(id);
    const page = await open(world, id);
    const names = () => page.locator("ol.steps .step-name").allTextContents();
    const before = page.getByRole("button", { name: "Show 49 more steps, all completed: row 20 to row 68" });
    await before.waitFor();
    await page.getByRole("button", { name: "Show 57 more steps, all completed: row 73 to row 129" }).waitFor();
    expect((await names()).slice(18, 26)).toEqual([
      "row 18",
      "row 19",
      "row 69",
      "row 70",
      "check",
      ...[71, 72, 130].map((row) => `row ${row}`),
    ]);
    await expectNoProblems(page);

    await before.click();
    await expect.poll(() => page.evaluate("document.activeElement.parentElement.id")).toMatch(/^step-/);
    expect((await names()).slice(19, 23)).toEqual(["row 19", "row 20", "row 21", "row 22"]);

    // One that is opened among them does not fold what follows it.
    await step(page, "row 40").locator("summary").click();
    expect(await names()).toContain("row 60");

    await page.getByLabel("Find a step").fill("ROW 12");
    await page.getByText("11 of 151 steps").waitFor();
    expect(await names()).toHaveLength(11);
    await page.getByLabel("Find a step").fill("");

    const bar = page.locator(".timeline .entry", { hasText: "row 100" });
    await bar.first().dispatchEvent("click");
    const opened = step(page, "row 100");
    await opened.getByText("100", { exact: true }).last().waitFor();
    expect(await opened.getAttribute("open")).not.toBeNull();
    await expectNoProblems(page);
    await closePage(page);
    await app.close();
  });
});

test("a failure is followed down to the run where it began", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("run-page-app.mjs");
    const id = await start(world, "top");
    await world.ended(id);
    const page = await open(world, id);
    await page.getByText("In the step call 1, which had invoked shop-middle").waitFor();
    const last = page.getByText("There in the step call 2, which had invoked shop-deepest");
    await last.getByText("which failed in its step print").waitFor();
    await expectNoProblems(page);
    await last.getByRole("link").click();
    await page.getByRole("heading", { name: "shop-deepest" }).waitFor();
    await page.getByText("In the step print").waitFor();
    await closePage(page);
    await app.close();
  });
});

test("the focus stays in the head of a run that ends while its button to cancel has it", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("run-page-app.mjs");
    const cancel = (id: string) => fetch(`${world.url}/v1/runs/${id}/cancel`, { method: "POST" });
    const first = await start(world, "ask");
    const page = await open(world, first);
    await page.getByRole("button", { name: "Cancel …" }).focus();
    await cancel(first);
    await page.locator(".summary").getByText("Cancelled").waitFor();
    await expect.poll(() => focused(page)).toBe("H1");
    const second = await start(world, "ask");
    await page.goto(`${world.url}/ui/runs/${second}`);
    await page.getByRole("button", { name: "Cancel …" }).click();
    await cancel(second);
    await page.locator(".summary").getByText("Cancelled").waitFor();
    await page.getByRole("button", { name: "Do nothing" }).click();
    await expect.poll(() => focused(page)).toBe("H1");
    await closePage(page);
    await app.close();
  });
});

const approval = {
  ...{ id: "gift", title: "A gift?" },
  nodes: [
    { id: "start", type: "start" },
    { id: "ask", type: "approval", title: "Ask the boss", config: { timeout: "2d" } },
    { id: "end", type: "end" },
  ],
  edges: [
    { from: "start", to: "ask" },
    { from: "ask", handle: "approved", to: "end" },
  ],
};

test("a run that was cancelled says why, and nothing of it waits any more", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("run-page-app.mjs");
    const id = await start(world, "ask");
    const page = await open(world, id);
    await step(page, "the decision")
      .getByText(/ends in \d+ h/)
      .waitFor();
    await callJson(world.url, "POST", `/v1/runs/${id}/cancel`, {});
    await page.locator(".notice").getByText("The run was cancelled over the API.").waitFor();
    expect(await page.title()).toBe("Cancelled: shop-ask · Run · Holdfast");
    await step(page, "the decision").getByText("wait for a signal · not finished when the run ended").waitFor();
    expect(await page.locator(".bar.wait rect").count()).toBe(1);
    expect(await page.locator(".bar path").count(), "no bar goes on").toBe(0);
    expect(await page.locator(".signal-form").count()).toBe(0);
    await expectNoProblems(page);

    await callJson(world.url, "PUT", "/v1/graphs/gift", { graph: approval });
    await callJson(world.url, "POST", "/v1/graphs/gift/publish", {});
    const { runId } = (await callJson(world.url, "POST", "/v1/graphs/gift/runs", {})) as { runId: string };
    await page.goto(`${world.url}/ui/runs/${runId}`);
    const node = page.locator("#node-ask");
    await node.getByText(/^waiting · approval · ask · due in \d+ h/).waitFor();
    await callJson(world.url, "POST", `/v1/runs/${runId}/cancel`, {});
    await node.getByText(/^not finished when the run ended · approval · ask$/).waitFor();
    await page.locator("#node-end").getByText("not reached").waitFor();
    expect(await page.locator('.node[data-node="ask"]').getAttribute("data-state")).toBe("unfinished");
    await expectNoProblems(page);
    await closePage(page);
    await app.close();
  });
});

test("a step that waits for a signal, or an approval of a graph, is answered from the page", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("run-page-app.mjs");
    const page = await open(world, await start(world, "ask"));
    const form = page.locator(".signal-form");
    const why = page.locator(".notice", { hasText: "It waits in the step" });
    expect(await why.textContent(), "as people write times").toMatch(
      / until \d+ \w+ \d{4}, \d\d:\d\d:\d\d\.\d{3}\.\s*$/,
    );
    await form.locator("summary").click();
    await form.getByLabel("Data, as JSON").fill("{oops");
    await form.getByRole("button", { name: "Send the signal" }).click();
    await form.getByText("This is not JSON.").waitFor();
    await expectNoProblems(page);
    await form.getByLabel("Data, as JSON").fill('{ "by": "the boss" }');
    await form.getByRole("button", { name: "Send the signal" }).click();
    await page.locator(".summary").getByText("Completed").waitFor();
    await page.locator("section", { hasText: "Output" }).last().getByText("the boss").waitFor();
    expect(await form.count()).toBe(0);

    await callJson(world.url, "PUT", "/v1/graphs/gift", { graph: approval });
    await callJson(world.url, "POST", "/v1/graphs/gift/publish", {});
    const { runId } = (await callJson(world.url, "POST", "/v1/graphs/gift/runs", {})) as { runId: string };
    await page.goto(`${world.url}/ui/runs/${runId}`);
    const node = page.locator("#node-ask");
    await node.getByText(/^waiting · approval/).waitFor();
    await expect.poll(() => page.title()).toBe("Waiting: gift, version 1 · Run · Holdfast");
    await form.locator("summary").click();
    await form.getByLabel("Data, as JSON").fill("{}");
    await form.getByRole("button", { name: "Send the signal" }).click();
    await form.getByRole("link", { name: "About GRAPH_ANSWER_INVALID" }).waitFor();
    await expectNoProblems(page);
    await form.getByRole("button", { name: "Approve" }).click();
    await page.locator(".summary").getByText("Completed").waitFor();
    await node.getByText(/^done · approval/).waitFor();
    // The same in both lists.
    await expect
      .poll(async () => [await node.locator(".step-time").textContent()])
      .toEqual([await step(page, "Ask the boss").locator(".step-time").textContent()]);

    const other = (await callJson(world.url, "POST", "/v1/graphs/gift/runs", {})) as { runId: string };
    await page.goto(`${world.url}/ui/runs/${other.runId}`);
    await form.getByRole("button", { name: "Reject" }).click();
    await node.getByText(/took “rejected”/).waitFor();
    await closePage(page);
    await app.close();
  });
});
