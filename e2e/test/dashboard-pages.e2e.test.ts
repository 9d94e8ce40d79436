import { expect, test } from "vitest";
import { startGateway } from "../support/gateway.mjs";
import { accessibilityProblems, closePage, NARROW, overflow, useDashboard, WIDE } from "./dashboard.ts";
import { inWorld } from "./world.ts";

const dashboard = useDashboard();
const mode = { name: "dashboard", extensions: true };
const PAGES = [
  "/",
  "/ui/runs",
  "/ui/functions",
  "/ui/graphs",
  "/ui/graphs/nothing",
  "/ui/events",
  "/ui/events/nothing",
  "/ui/schedules",
  "/ui/limits",
  "/ui/connections",
  "/ui/functions/nothing",
  "/ui/runs/nothing",
  "/ui/compare",
];

test("without anything to show every page says so, on every width, in both themes", async () => {
  const gateway = await startGateway({ args: ["--store", "memory"] });
  try {
    for (const viewport of [WIDE, NARROW]) {
      for (const theme of ["light", "dark"] as const) {
        const page = await dashboard.open(gateway.url, { viewport, theme });
        for (const path of PAGES) {
          await page.goto(`${gateway.url}${path}`);
          await page.locator("h1").waitFor();
          await expect.poll(() => page.getByText(/^Asking the gateway/).count()).toBe(0);
          expect([path, await overflow(page), await accessibilityProblems(page)]).toEqual([path, 0, []]);
        }
        await closePage(page);
      }
    }
  } finally {
    await gateway.child.stop();
  }
});

test("a function is started, paused with a reason that its runs say, and resumed", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("dashboard-app.mjs");
    const page = await dashboard.open(`${world.url}/ui/functions`);
    await page.getByRole("link", { name: /shop-quick/ }).click();
    await page.getByText("It has no runs.").waitFor();
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByLabel("Data, as JSON").fill("[1]");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("The data must be a JSON object.").waitFor();
    await page.getByLabel("Data, as JSON").fill('{ "n": 31 }');
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator(".summary").getByText("Completed").waitFor();
    await page.locator("section", { hasText: "Output" }).last().getByText("31").waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Functions" }).click();
    await page.getByRole("link", { name: /shop-quick/ }).click();
    const chart = page.locator("section", { hasText: "Last hour" }).locator("figure", { hasText: "Runs ended" });
    await chart.getByText("1", { exact: true }).waitFor();
    expect(await chart.locator("rect").count()).toBe(1);

    await page.getByRole("navigation").getByRole("link", { name: "Functions" }).click();
    await page.getByRole("link", { name: /shop-quick/ }).click();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByLabel("Why").fill("the migration runs till six");
    await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
    await page.locator(".notice").getByText("the migration runs till six").waitFor();
    await page.getByRole("button", { name: "Start" }).click();
    // The data of the last run is there.
    await expect.poll(() => page.getByLabel("Data, as JSON").inputValue()).toContain("31");
    await page.getByLabel("How").selectOption("");
    await page.getByRole("dialog").getByRole("button", { name: "Start" }).click();
    await page
      .locator(".notice")
      .getByText(/the migration runs till six/)
      .waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Overview" }).click();
    await page.getByText("Paused: shop-quick.").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole("link", { name: "Show" }).click();
    await page.getByRole("link", { name: /shop-quick/ }).click();
    await page.getByRole("button", { name: "Resume" }).click();
    await expect.poll(() => page.locator(".rows-of-runs").getByText("Completed").count()).toBe(2);
    expect(await accessibilityProblems(page)).toEqual([]);
    await closePage(page);
    await app.close();
  });
});

test("a worker is seen as it comes, is drained, is given work again, and goes", async () => {
  await inWorld(mode, async (world) => {
    const page = await dashboard.open(`${world.url}/ui/connections`);
    await page.getByRole("heading", { name: "No worker is connected" }).waitFor();
    const app = await world.startAppOf("dashboard-app.mjs");
    await page.locator(".worker").getByText("Ready").waitFor();
    await page
      .locator(".worker")
      .getByText(/every 1\.00 s, last heard of/)
      .waitFor();
    await page
      .locator(".worker dd")
      .getByText(/^(<1|\d+(\.\d+)?) (ms|s)$/)
      .waitFor();
    await page.getByRole("button", { name: "Drain" }).click();
    await page.locator(".worker").getByText("Drained").waitFor();
    const [eventId = ""] = await world.api.send({ name: "shop/quick", data: {} });
    const [run] = await world.api.runsOf(eventId);
    expect(run?.status).toBe("PENDING");
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole("button", { name: "Give it work again" }).click();
    await page.locator(".worker").getByText("Ready").waitFor();
    await world.ended(run?.id ?? "");
    await app.close();
    await page.getByRole("heading", { name: "No worker is connected" }).waitFor();
    await closePage(page);
  });
});

test("new runs of an app begin with the version that the page sets", async () => {
  await inWorld(mode, async (world) => {
    const versions = ["1", "2"];
    const apps = [];
    for (const version of versions)
      apps.push(await world.startAppOf("dashboard-app.mjs", { env: { SHOP_VERSION: version } }));
    const page = await dashboard.open(`${world.url}/ui/functions/shop-quick`);
    await page.getByRole("combobox", { name: "Version" }).selectOption("1");
    await page.getByLabel("Of 100 new runs").fill("100");
    await page.getByRole("button", { name: "Set" }).click();
    await page.getByText("100 % of new runs").waitFor();
    const [eventId = ""] = await world.api.send({ name: "shop/quick", data: {} });
    const [run] = await world.api.runsOf(eventId);
    await page.locator(".rows-of-runs").getByText("Completed").waitFor();
    await page.goto(`${world.url}/ui/runs/${run?.id}`);
    await page.locator(".summary div").filter({ hasText: "Version" }).getByText("1", { exact: true }).waitFor();
    await page.goto(`${world.url}/ui/functions/shop-quick`);
    await page.getByRole("button", { name: "End the rollout" }).click();
    await expect.poll(() => page.getByText("100 % of new runs").count()).toBe(0);
    await closePage(page);
    for (const app of apps) await app.close();
  });
});

test("a read-only page shows all of it and offers nothing that changes it", async () => {
  const gateway = await startGateway({ args: ["--store", "memory", "--dashboard", "read-only"] });
  try {
    const page = await dashboard.open(`${gateway.url}/ui/runs`);
    await page.getByRole("heading", { name: "No runs yet" }).waitFor();
    await page.getByText("Read-only").waitFor();
    expect(await page.getByRole("button", { name: /Rerun|Cancel/ }).count()).toBe(0);
    await page.goto(`${gateway.url}/ui/events`);
    await page.getByRole("heading", { name: "No events yet" }).waitFor();
    expect(await page.getByRole("button", { name: /Send/ }).count()).toBe(0);
    const refused = await page.evaluate("fetch('/v1/bulk', { method: 'POST', body: '{}' }).then((one) => one.json())");
    expect(refused).toMatchObject({ code: "DASHBOARD_READ_ONLY" });
    await closePage(page);
  } finally {
    await gateway.child.stop();
  }
});

test("an error leads to the page that explains it, on every width, in both themes, without scripts", async () => {
  const gateway = await startGateway({ args: ["--store", "memory"] });
  try {
    const page = await dashboard.open(`${gateway.url}/ui/runs/nothing`);
    const opened = page.context().waitForEvent("page");
    await page.getByRole("alert").getByRole("link", { name: "About NOT_FOUND" }).click();
    const explained = await opened;
    await explained.getByRole("heading", { name: "NOT_FOUND" }).waitFor();
    await explained.getByRole("heading", { name: "What to do" }).waitFor();
    await explained.getByRole("link", { name: "All codes" }).click();
    await explained.getByRole("link", { name: "WATCHERS_FULL" }).click();
    await explained.getByRole("heading", { name: "WATCHERS_FULL" }).waitFor();
    await explained.getByRole("link", { name: "Holdfast" }).click();
    await explained.getByRole("heading", { name: "Overview" }).waitFor();
    await closePage(page);
    for (const viewport of [WIDE, NARROW]) {
      for (const theme of ["light", "dark"] as const) {
        const one = await dashboard.open(`${gateway.url}/errors`, { viewport, theme });
        for (const path of ["/errors", "/errors/SIGNING_KEY_INVALID", "/errors/SIGNING_KEY_INVALLID"]) {
          await one.goto(`${gateway.url}${path}`);
          await one.locator("h1").waitFor();
          expect([path, await overflow(one), await accessibilityProblems(one)]).toEqual([path, 0, []]);
        }
        await closePage(one);
      }
    }
  } finally {
    await gateway.child.stop();
  }
});
