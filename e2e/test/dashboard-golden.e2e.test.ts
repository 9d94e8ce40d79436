/**
 * What the dashboard looks like, kept as small pictures and as outlines. Where text is drawn as it was when they were
 * taken the pictures are compared, with a tolerance; another Chromium, or other fonts, draw it otherwise, and there the
 * outlines alone are compared. `HOLDFAST_GOLDEN=write` takes them anew.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DASHBOARD_STATES, type DashboardState, NOW_MS } from "../support/dashboard-states.ts";
import { type RunningGateway, startGateway } from "../support/gateway.mjs";
import { accessibilityProblems, closePage, NARROW, overflow, useDashboard, WIDE } from "./dashboard.ts";

const dashboard = useDashboard();
const folder = fileURLToPath(new URL("../golden/", import.meta.url));
const isWriting = process.env.HOLDFAST_GOLDEN === "write";

/** Of the side of a screenshot, so that the files are small. */
const SCALE = 0.5;
/** A pixel counts as another one when a colour differs by more than this, of 255. */
const COLOUR = 32;
/** So many may be others: the edges of letters, a port in an address. */
const MOST_OTHERS = 0.002;

async function answer(page: Page, { answers }: DashboardState): Promise<void> {
  const paths = Object.keys(answers).sort((a, b) => b.length - a.length);
  await page.context().route(
    (url) => url.pathname.startsWith("/v1/") && url.pathname !== "/v1/runs/stream",
    async (route) => {
      const { pathname, search } = new URL(route.request().url());
      const path = paths.find((one) => `${pathname}${search}`.startsWith(one));
      if (path === undefined)
        return route.fulfill({ status: 404, json: { error: "nothing", code: "NOT_FOUND", status: 404 } });
      return route.fulfill({ json: answers[path] });
    },
  );
  await page.clock.setFixedTime(NOW_MS);
}

/** How wide this browser draws some text: the same where fonts and their drawing are. */
const drawing = (page: Page): Promise<string> =>
  page.evaluate(`(() => {
    const context = document.createElement("canvas").getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const { font } = style;
    const mono = style.getPropertyValue("--mono").trim();
    return [font, mono].flatMap((one) => {
      context.font = one;
      return ["Holdfast 0123", "مرحبا بالعالم", "שלום", "👩‍👩‍👧‍👦🚚"].map((text) => context.measureText(text).width.toFixed(2));
    }).join(" ") + " " + /Chrom\\w*\\/[\\d]+/.exec(navigator.userAgent)[0];
  })()`);

/** Without the navigation, which has more with each page that there is. */
const shotOf = (page: Page) => ({
  ...({ animations: "disabled", caret: "hide", maskColor: "#808080" } as const),
  mask: [page.locator(".side")],
});

/** A screenshot made small, as WebP. */
async function smallPicture(page: Page): Promise<Buffer> {
  const png = (await page.screenshot(shotOf(page))).toString("base64");
  const tool = await dashboard.browser.newPage();
  try {
    const url = (await tool.evaluate(`(async () => {
      const image = new Image();
      image.src = "data:image/png;base64,${png}";
      await image.decode();
      const canvas = document.createElement("canvas");
      canvas.width = image.width * ${SCALE};
      canvas.height = image.height * ${SCALE};
      const context = canvas.getContext("2d");
      context.imageSmoothingQuality = "high";
      context.drawImage(image, 0, 0, canvas.width, canvas.height);
      return canvas.toDataURL("image/webp", 0.82);
    })()`)) as string;
    return Buffer.from(url.split(",")[1] ?? "", "base64");
  } finally {
    await tool.close();
  }
}

/** How large a part of the pixels is another colour; 1: they are not of one size. */
async function difference(one: Buffer, other: Buffer): Promise<number> {
  const tool = await dashboard.browser.newPage();
  try {
    return (await tool.evaluate(`(async () => {
      const pixels = async (base64) => {
        const image = new Image();
        image.src = "data:image/webp;base64," + base64;
        await image.decode();
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [image.width, image.height];
        const context = canvas.getContext("2d");
        context.drawImage(image, 0, 0);
        return context.getImageData(0, 0, image.width, image.height);
      };
      const [a, b] = await Promise.all([pixels("${one.toString("base64")}"), pixels("${other.toString("base64")}")]);
      if (a.width !== b.width || a.height !== b.height) return 1;
      let others = 0;
      for (let at = 0; at < a.data.length; at += 4) {
        const far = [0, 1, 2].some((part) => Math.abs(a.data[at + part] - b.data[at + part]) > ${COLOUR});
        if (far) others += 1;
      }
      return others / (a.data.length / 4);
    })()`)) as number;
  } finally {
    await tool.close();
  }
}

const outline = async (page: Page): Promise<string> =>
  `${(await page.locator("main").ariaSnapshot()).replaceAll(/127\.0\.0\.1:\d+/g, "gateway")}\n`;

let gateway: RunningGateway;

beforeAll(async () => {
  gateway = await startGateway({ args: ["--store", "memory"] });
});
afterAll(() => gateway.child.stop());

test.each(DASHBOARD_STATES)("$name looks as it did, in both themes and widths", async (state) => {
  mkdirSync(folder, { recursive: true });
  const drawn = `${folder}drawn-by.txt`;
  for (const [width, viewport] of [["wide", WIDE] as const, ["narrow", NARROW] as const]) {
    for (const theme of ["light", "dark"] as const) {
      const prepare = (one: Page): Promise<void> => answer(one, state);
      const page = await dashboard.open(`${gateway.url}${state.path}`, { viewport, theme, prepare });
      await page.locator(state.ready).first().waitFor();
      await page.getByText("Live", { exact: true }).first().waitFor({ state: "attached" });
      await page.evaluate("document.fonts.ready");
      const file = `${folder}${state.name}-${width}-${theme}.webp`;
      const [picture, text, by] = [await smallPicture(page), await outline(page), await drawing(page)];
      const outlineFile = `${folder}${state.name}-${width}.txt`;
      if (isWriting) {
        writeFileSync(file, picture);
        writeFileSync(outlineFile, text);
        writeFileSync(drawn, `${by}\n`);
      }
      expect(await overflow(page), `${file} sticks out`).toBe(0);
      expect(await accessibilityProblems(page), file).toEqual([]);
      expect(text, outlineFile).toBe(readFileSync(outlineFile, "utf8"));
      expect(existsSync(file), `${file} is missing; HOLDFAST_GOLDEN=write takes it`).toBe(true);
      if (readFileSync(drawn, "utf8").trim() === by) {
        expect(await difference(picture, readFileSync(file)), `${file} looks otherwise`).toBeLessThan(MOST_OTHERS);
      }
      await closePage(page);
    }
  }
});
