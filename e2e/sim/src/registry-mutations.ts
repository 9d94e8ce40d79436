import type { Guard } from "./guard.ts";

const ADMISSION = "gateway-mock/src/dispatch/admission/may-start.ts";

/**
 * Of what keeps decisions to the functions and versions that there are. Two guards have tests of their own that fail without
 * them. `isRegistry` is SQL, which the model of the store does not have: `gateway-mock/test/store-postgres/claims.test.ts`, "take
 * nothing when it has changed, and say so". `whyOutdated` (a run's failure is decided while a function that hears of failures
 * is registered) needs a meeting of rare moments: `packages/store/test/batch-plan.test.ts`.
 */
export const REGISTRY_GUARDS: readonly Guard[] = [
  {
    name: "an event is decided on the functions as they are when it is written",
    against: "staleCaches",
    edits: [
      {
        file: "packages/store/src/rules/plan-intake.ts",
        find: "if (registryVersion !== undefined && registryVersion !== found.registryVersion) return outdated(verdict, item, scene);",
        replace: "",
      },
    ],
  },
  {
    name: "the key of an event that is decided again is free",
    against: "staleCaches",
    edits: [
      {
        file: "packages/store/src/rules/plan-intake.ts",
        find: "if (key) scene.writes.freeKeys.push({ name, key, eventId: event.id });",
        replace: "",
      },
    ],
  },
  {
    name: "what is leased on creation goes to the version that the run is made for",
    edits: [
      {
        file: ADMISSION,
        find: "facts.hasBacklog ? BACKLOG : onlyBy(work.newestVersion)",
        replace: "facts.hasBacklog ? BACKLOG : BY_ANY",
      },
    ],
  },
  {
    name: "with the strict policy a run does not begin with an older version",
    edits: [{ file: ADMISSION, find: "any: 250, strict: null }", replace: "any: 250, strict: 0 }" }],
  },
];
