import { afterAll, describe, expect } from "vitest";
import { checkInvariants } from "../../src/index.ts";
import { bulkContract } from "./bulk.ts";
import { changesContract } from "./changes.ts";
import { claimsContract } from "./claims.ts";
import { commitContract } from "./commit.ts";
import { controlsContract } from "./controls.ts";
import { cronsContract } from "./crons.ts";
import { flowRulesContract } from "./flow-rules.ts";
import { graphsContract } from "./graphs.ts";
import type { ContractBench } from "./harness.ts";
import { intakeContract } from "./intake.ts";
import { invariantsContract } from "./invariants.ts";
import { limitsContract } from "./limits.ts";
import { readsContract } from "./reads.ts";
import { refusalsContract } from "./refusals.ts";
import { registryContract } from "./registry.ts";
import { repairContract } from "./repair.ts";
import { retentionContract } from "./retention.ts";
import { waitingContract } from "./waiting.ts";
import { waitsContract } from "./waits.ts";

interface Part {
  readonly test: (bench: ContractBench) => void;
  /** Its stores have virtual time. */
  readonly virtualTime?: boolean;
  /** Their partitions are for so much time, where they have some. */
  readonly tablePartitionMs?: number;
}

const PARTS: Readonly<Record<string, Part>> = {
  changes: { test: changesContract },
  "bulk jobs": { test: bulkContract },
  claims: { test: claimsContract },
  commit: { test: commitContract },
  controls: { test: controlsContract },
  "flow rules": { test: flowRulesContract },
  graphs: { test: graphsContract, virtualTime: true },
  intake: { test: intakeContract },
  invariants: { test: invariantsContract },
  limits: { test: limitsContract },
  reads: { test: readsContract },
  repair: { test: repairContract },
  refusals: { test: refusalsContract },
  registry: { test: registryContract, virtualTime: true },
  retention: { test: retentionContract, virtualTime: true, tablePartitionMs: 1_000 },
  schedules: { test: cronsContract },
  waiting: { test: waitingContract },
  waits: { test: waitsContract },
};

export interface ContractStoreOptions {
  readonly virtualTime: boolean;
  readonly tablePartitionMs?: number;
}

export interface ContractOptions {
  /**
   * Called once for each part, while tests are collected; registers the hooks that open and close the stores it returns.
   */
  readonly open: (options: ContractStoreOptions) => ContractBench;
}

/** What every store does, on Postgres or in memory: tests through the port alone, and what holds of all its runs then. */
export function storeContract({ open }: ContractOptions): void {
  for (const [name, { test, virtualTime = false, tablePartitionMs }] of Object.entries(PARTS)) {
    describe(`the store's contract: ${name}`, () => {
      const bench = open({ virtualTime, ...(tablePartitionMs === undefined ? {} : { tablePartitionMs }) });
      // Of the hooks that follow tests the last is the first: the stores are open.
      afterAll(async () => expect((await checkInvariants(bench.store)).broken).toEqual([]));
      test(bench);
    });
  }
}
