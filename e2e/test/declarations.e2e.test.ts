import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { tool } from "../../packages/tooling/src/workspace.mjs";

/**
 * What an app exports can be written down as declarations where nothing but `holdfast` can be found: as in a workspace
 * whose packages see only what they depend on themselves.
 */

const root = fileURLToPath(new URL("../..", import.meta.url));

const APP = `import { eventType, Holdfast, staticSchema } from "holdfast";
import { HoldfastClient } from "holdfast/client";

export const app = new Holdfast({ id: "shop" });
export const client = new HoldfastClient({ id: "web", baseUrl: "http://127.0.0.1:8288" });
export const ordered = eventType("shop/ordered", { schema: staticSchema<{ n: number }>() });
export const plain = eventType("shop/plain");
export const ship = app.createFunction({ id: "ship", triggers: [ordered, { cron: "@daily" }] }, async ({ event, step }) => {
  const got = await step.waitForEvent("paid", { event: ordered, timeout: "1h" });
  return event.name === "inngest/scheduled.timer" ? event.data.scheduledAt : got?.data.n;
});
export const nightly = app.createFunction({ id: "nightly", triggers: { cron: "@daily" } }, ({ event }) => [
  event.data.cron,
  event.data.fireAt,
]);
`;

test.for(["nodenext", "bundler"])(
  "an app's exports have declarations that name only holdfast, %s",
  async (resolution) => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-declarations-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const installed = join(folder, "node_modules/holdfast");
    await mkdir(installed, { recursive: true });
    await cp(join(root, "packages/sdk/dist"), join(installed, "dist"), { recursive: true });
    await cp(join(root, "packages/sdk/package.json"), join(installed, "package.json"));
    await writeFile(join(folder, "package.json"), '{ "type": "module" }');
    await writeFile(join(folder, "app.ts"), APP);
    const compilerOptions = {
      ...{ strict: true, target: "es2023", outDir: "out", composite: true, types: ["node"] },
      ...{ module: resolution === "bundler" ? "esnext" : resolution, moduleResolution: resolution },
      typeRoots: [join(root, "node_modules/@types")],
    };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["app.ts"] }));
    const compiled = promisify(execFile)(process.execPath, [tool("typescript/bin/tsc"), "-p", folder]);
    expect(await compiled.catch(({ stdout }: { readonly stdout: string }) => ({ stdout }))).toMatchObject({
      stdout: "",
    });
    const text = await readFile(join(folder, "out/app.d.ts"), "utf8");
    const named = [...text.matchAll(/(?:from|import\() ?"([^"]+)"/g)].map(([, name]) => name);
    expect(new Set(named)).toEqual(new Set(["holdfast", "holdfast/client"]));
  },
);
