import { describe } from "vitest";
import { claimsContract } from "./claims.ts";
import { commitContract } from "./commit.ts";
import { flowRulesContract } from "./flow-rules.ts";
import type { ContractBench } from "./harness.ts";
import { intakeContract } from "./intake.ts";
import { waitsContract } from "./waits.ts";

const PARTS: readonly (readonly [string, (bench: ContractBench) => void])[] = [
  ["claims", claimsContract],
  ["commit", commitContract],
  ["flow rules", flowRulesContract],
  ["intake", intakeContract],
  ["waits", waitsContract],
];

/**
 * What every store does, on Postgres or in memory: tests through the port alone. `open` is called once for each part, while
 * tests are collected, and registers the hooks that open and close the stores it returns.
 */
export function storeContract({ open }: { readonly open: () => ContractBench }): void {
  for (const [name, part] of PARTS) describe(`the store's contract: ${name}`, () => part(open()));
}
