import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { HoldfastChannels } from "../../src/diagnostics/channels.ts";
import { channels } from "../../src/diagnostics/publisher.ts";

const page = readFileSync(new URL("../../../../docs/observe.md", import.meta.url), "utf8");

const start = {
  requestId: "r",
  runId: "run",
  functionSlug: "f",
  stepId: "s",
  stepHash: "h",
  kind: "run",
  attempt: 0,
  startedAtMs: 1,
} as const;

type KeysOf<Union> = Union extends unknown ? keyof Union : never;

/** One message of each channel, with each of its fields. */
const samples: {
  readonly [Name in Exclude<keyof HoldfastChannels, "holdfast:isolation">]: Required<HoldfastChannels[Name]>;
} & { readonly "holdfast:isolation": Record<KeysOf<HoldfastChannels["holdfast:isolation"]>, true> } = {
  "holdfast:state": {
    instanceId: "i",
    from: "CONNECTING",
    to: "ACTIVE",
    connectionId: "c",
    problem: null,
    atMs: 1,
  },
  "holdfast:stall": {
    instanceId: "i",
    sequence: 1,
    atMs: 1,
    cause: "blocked",
    stalledMs: 1,
    waitedMs: 0,
    execution: null,
    foundBy: "none",
    culprit: null,
    stack: [],
    problem: null,
    waiting: 0,
    leasesGivenUp: false,
    suppressed: 0,
  },
  "holdfast:step:start": start,
  "holdfast:step:end": { ...start, durationMs: 1, status: "completed", error: null, willRetry: false },
  "holdfast:lease": {
    instanceId: "i",
    requestId: "r",
    runId: "run",
    functionSlug: "f",
    type: "extended",
    leaseId: "l",
    atMs: 1,
  },
  "holdfast:isolation": { type: true, threadId: true, atMs: true, subject: true, reason: true, isOverrun: true },
};

const namesIn = (text: string): readonly string[] =>
  [...text.matchAll(/^\| ((?:`\w+`(?:, )?)+) \|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name),
  );

function fieldsOf(channel: string): readonly string[] {
  const section = page.split(/^#{2,3} /m).find((text) => text.startsWith(`\`${channel}\``)) ?? "";
  const own = namesIn(section);
  return section.includes("All fields of `holdfast:step:start`") ? [...fieldsOf("holdfast:step:start"), ...own] : own;
}

test("docs/observe.md has each channel that is published, and each field of its messages", () => {
  const documented = [...page.matchAll(/^### `(holdfast:[\w:]+)`$/gm)].map(([, name]) => name);
  expect(documented.sort()).toEqual(
    Object.values(channels)
      .map(({ name }) => name as string)
      .sort(),
  );
  for (const [name, sample] of Object.entries(samples)) {
    expect([...fieldsOf(name)].sort(), name).toEqual(Object.keys(sample).sort());
  }
});
