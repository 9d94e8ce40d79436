/** Runs the simulation as a bundle of its own, with a guard of the product switched off where a test wants that. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "../../../packages/tooling/src/processes.mjs";
import { bundleSimulation } from "../../../packages/tooling/src/simulate.mjs";
import type { Guard } from "./guard.ts";

/** What `--json` prints. */
export interface Outcome {
  readonly schedules: number;
  readonly effects: number;
  readonly zombies: number;
  readonly redone: number;
  /** Results that handlers were given before they were stored; steps that they asked for then. */
  readonly ahead: number;
  readonly asked: number;
  readonly runs: number;
  readonly tookMs: number;
  readonly cpuMs: number;
  readonly digests: readonly string[];
  /** Of each schedule. */
  readonly adversaries: readonly (readonly string[])[];
  readonly failed: readonly { readonly seed: number; readonly id: string; readonly message: string }[];
}

/** The simulation as one file that plays schedules in a process of its own. */
export interface Bundle {
  play(...args: string[]): Promise<Outcome>;
  remove(): void;
}

/** Bundles it from the sources, with a guard switched off where one is given. */
export async function bundle(guard?: Guard): Promise<Bundle> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-simulation-"));
  const file = join(folder, "simulation.mjs");
  await bundleSimulation(file, guard?.edits ?? []);
  return {
    async play(...args) {
      const { output } = await run(process.execPath, [file, ...args, "--json"], { output: "collect" });
      const last = output.trim().split("\n").at(-1) ?? "";
      if (!last.startsWith("{")) throw new Error(`The simulation ended early: ${output.slice(-2000)}`);
      return JSON.parse(last) as Outcome;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
