/** Mutations of the guards that keep decisions to the functions and versions that exist; see `mutations.ts`. */
import type { Guard } from "./guard.ts";

const ADMISSION = "gateway-mock/src/dispatch/admission/may-start.ts";

/**
 * Of what keeps decisions to the functions and versions that there are. One guard has a test of its own that fails without
 * it: `isRegistry` is SQL, which the model of the store does not have: `packages/store/test/contract/claims.ts`, "a claim
 * based on an outdated registry takes nothing and reports it".
 */
export const REGISTRY_GUARDS: readonly Guard[] = [
  {
    name: "an event is decided on the functions as they are when it is written",
    against: "staleCaches",
    edits: [
      {
        file: "packages/store/src/rules/plan-intake.ts",
        find: "if (registryVersion !== undefined && registryVersion !== found.registryVersion) return outdated(result, item, scene);",
        replace: "",
      },
    ],
  },
  {
    name: "a run's failure is decided on the functions as they are when it is written",
    against: "staleCaches",
    edits: [
      {
        file: "packages/store/src/rules/plan.ts",
        find: "whySignalTaken(transition, signals) ?? whyOutdated(transition, found);",
        replace:
          "whySignalTaken(transition, signals) ?? (found.atMs < 0 ? whyOutdated(transition, found) : undefined);",
      },
    ],
  },
  {
    name: "the key of an event that is decided again is free",
    against: "staleCaches",
    edits: [
      {
        file: "packages/store/src/rules/plan-intake.ts",
        find: "if (key) scene.writes.freeKeys.push({ name, key, eventId: id });",
        replace: "",
      },
    ],
  },
  {
    name: "what is leased on creation goes to the version that the run is made for",
    edits: [
      {
        file: ADMISSION,
        find: "facts.hasBacklog ? BACKLOG : onNewest(work)",
        replace: "facts.hasBacklog ? BACKLOG : BY_ANY",
      },
    ],
  },
  {
    name: "with the strict policy a run does not begin with an older version",
    edits: [{ file: ADMISSION, find: "any: 250, strict: null }", replace: "any: 250, strict: 0 }" }],
  },
];
