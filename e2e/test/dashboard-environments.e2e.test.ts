import { type Gateway, startGateway } from "@holdfast/gateway";
import { waitFor } from "@holdfast/testing";
import { Holdfast } from "holdfast";
import { afterEach, expect, test } from "vitest";
import { accessibilityProblems, closePage, NARROW, overflow, useDashboard } from "./dashboard.ts";

const dashboard = useDashboard();
const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const SIGNING_KEY = `signkey-all-${"a".repeat(32)}`;
const KEYS = [
  { name: "all", kind: "signing", key: SIGNING_KEY },
  { name: "events", kind: "event", key: "events" },
] as const;

interface Run {
  readonly id: string;
  readonly status: string;
}

/** A gateway with keys for all environments, and a run of production. */
async function withRun(): Promise<{ readonly gateway: Gateway; readonly runId: string }> {
  const gateway = await startGateway({ port: 0, store: "memory", keys: KEYS });
  closing.push(() => gateway.close());
  const client = new Holdfast({
    ...{ id: "ops", env: "production", baseUrl: gateway.url },
    ...{ signingKey: SIGNING_KEY, eventKey: "events" },
  });
  const check = client.createFunction({ id: "check", triggers: { event: "ops/check" } }, () => "fine");
  const connection = await client.connect({ functions: [check] });
  closing.push(() => connection.close());
  await client.send({ name: "ops/check" });
  const headers = { authorization: `Bearer ${SIGNING_KEY}`, "x-inngest-env": "production" };
  const runId = await waitFor(
    async () => {
      const { runs } = (await (await fetch(`${gateway.url}/v1/runs`, { headers })).json()) as { runs: readonly Run[] };
      return runs.find(({ status }) => status === "COMPLETED")?.id;
    },
    { what: "the run to end" },
  );
  return { gateway, runId };
}

test("the address of a run names its environment, and one that does not is answered with where the run is", async () => {
  const { gateway, runId } = await withRun();
  const page = await dashboard.open(`${gateway.url}/ui/runs/${runId}`);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.getByText("or a signing key of the file").waitFor();
  await page.getByLabel("Signing key").fill(SIGNING_KEY);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("It is in the environment production; this page looks at default.").waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.getByRole("link", { name: "Show it there" }).click();
  await page.locator(".summary").getByText("Completed").waitFor();
  expect(page.url()).toBe(`${gateway.url}/ui/runs/${runId}?env=production`);
  expect(await page.getByRole("link", { name: "ops-check" }).getAttribute("href")).toBe(
    "/ui/runs?function=ops-check&env=production",
  );
  await page.getByRole("navigation").getByRole("link", { name: "Runs" }).click();
  await expect.poll(() => page.locator(".run-row").count()).toBe(1);
  expect(page.url()).toBe(`${gateway.url}/ui/runs?env=production`);
  expect(await page.locator(".run-row").getAttribute("href")).toBe(`/ui/runs/${runId}?env=production`);
  // Where faults are refused the page offers none, and asks for none.
  expect(await page.getByRole("navigation").getByRole("link", { name: "Faults" }).count()).toBe(0);
  await page.goto(`${gateway.url}/ui/faults`);
  await page.getByRole("heading", { name: "No faults here" }).waitFor();
  expect(await page.locator("main").textContent()).not.toContain("`");
  await page.getByLabel("Environment").fill("prodction");
  await page.keyboard.press("Tab");
  await page.getByText("No app has connected in it. Known: production.").waitFor();
  expect(page.url()).toBe(`${gateway.url}/ui/faults?env=prodction`);
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.goto(`${gateway.url}/ui/runs/01JZ6Q4WJ2M6W9S0V7K3N8T5YB`);
  await page
    .getByText("Looked for in the environment prodction, and in the others that are known: production.")
    .waitFor();
  await page.setViewportSize(NARROW);
  expect(await overflow(page)).toBe(0);
  await page.goto(`${gateway.url}/`);
  await page.getByText("export HOLDFAST_SIGNING_KEY").waitFor();
  expect(await overflow(page)).toBe(0);
  expect(asked.filter((path) => path.startsWith("/v1/faults"))).toEqual([]);
  await closePage(page);
});

test("all runs that failed or were cancelled are resumed from the list", async () => {
  const gateway = await startGateway({ port: 0, store: "memory" });
  closing.push(() => gateway.close());
  const client = new Holdfast({ id: "shop", baseUrl: gateway.url, isDev: true });
  let isBroken = true;
  const pay = client.createFunction({ id: "pay", retries: 0, triggers: { event: "shop/pay" } }, () => {
    if (isBroken) throw new Error("The bank is down.");
    return "paid";
  });
  const connection = await client.connect({ functions: [pay] });
  closing.push(() => connection.close());
  await client.send([{ name: "shop/pay" }, { name: "shop/pay" }]);
  const page = await dashboard.open(`${gateway.url}/ui/runs`);
  await expect.poll(() => page.locator(".run-row", { hasText: "Failed" }).count()).toBe(2);
  isBroken = false;
  await page.getByRole("button", { name: "Resume these …" }).click();
  await page.getByText("2 runs fit. Each goes on where it failed or was cancelled").waitFor();
  await page.getByText("choose Cancelled there to take those").waitFor();
  await page.getByRole("button", { name: "Resume 2 runs" }).click();
  await page.getByText("2 of 2 done").waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  await expect.poll(() => page.locator(".run-row", { hasText: "Completed" }).count()).toBe(2);
  await page.getByRole("button", { name: "Resume these …" }).click();
  await page.getByText("there is nothing to do").waitFor();
  expect(await page.getByRole("button", { name: /^Resume \d/ }).count()).toBe(0);
  await closePage(page);
});

test("a name that no environment can have is refused in words, and the page opens again after it", async () => {
  const gateway = await startGateway({ port: 0, store: "memory" });
  closing.push(() => gateway.close());
  const page = await dashboard.open(`${gateway.url}/ui/runs`);
  const field = page.getByLabel("Environment");
  await field.fill("本番");
  await field.press("Enter");
  const refusal = page.getByText('No environment can be called "本番": a name has 1 to 128 visible ASCII characters');
  await refusal.waitFor();
  await page.goto(`${gateway.url}/ui/runs`);
  await refusal.waitFor();
  await field.fill("");
  await field.press("Enter");
  await page.getByRole("heading", { name: "No runs yet" }).waitFor();
  expect(await refusal.count()).toBe(0);
  await closePage(page);
});
