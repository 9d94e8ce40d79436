import { expect, test } from "vitest";
import { readRule } from "../../src/faults/rules/read-rule.ts";
import { faultsOfRound, planRounds } from "../../src/faults/torture/plan.ts";
import type { SeenRun } from "../../src/faults/torture/torture-types.ts";

const CALM: SeenRun = {
  ...{
    runId: "r",
    eventId: "e",
    status: "COMPLETED",
    outputJson: null,
    error: null,
    waits: null,
    commits: 1,
    faults: [],
  },
  bodies: [
    {
      ...{ hash: "h", name: "charge", requestId: "q", attempt: 0, ordinal: 0, resultJson: "1" },
      ...{ hasFailed: false, wasStored: false },
    },
  ],
};

test.each([0, 7, 2 ** 31 - 8, 2 ** 31, 4_151_387_018, 2 ** 32 - 1])(
  "each round of the seed %i can be asked for",
  (seed) => {
    const rounds = planRounds(CALM, seed, 20);
    expect(new Set(rounds.map(({ plan }) => plan.kind))).toEqual(new Set(["kill", "kill-end", "network", "chaos"]));
    for (const round of rounds) {
      for (const fault of faultsOfRound(round, "shop-order")) {
        expect(readRule(fault, () => 1)).toMatchObject({ what: fault.what, seed: fault.seed });
      }
    }
  },
);
