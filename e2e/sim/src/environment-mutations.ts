/** Mutations of the guards that keep environments apart; see `mutations.ts`. */
import type { Guard } from "./guard.ts";

const against = "environments";

/** Of what keeps environments apart: wherever something is looked up by a name, the name says whose it is. */
export const ENVIRONMENT_GUARDS: readonly Guard[] = [
  {
    name: "an event starts the functions of its environment",
    against,
    edits: [
      {
        file: "gateway-mock/src/dispatch/registry/functions.ts",
        find: "        fn.environment === environment &&\n",
        replace: "",
      },
    ],
  },
  {
    name: "an event is stored under the name that it has in its environment",
    against,
    edits: [
      {
        file: "gateway-mock/src/dispatch/events/event-intake.ts",
        find: "event: { id, name: qualify(environment, name), payloadJson, idempotencyKey: event.id ?? null, tsMs },",
        replace: "event: { id, name, payloadJson, idempotencyKey: event.id ?? null, tsMs },",
      },
    ],
  },
  {
    name: "the ids of a repeated request's events are those of its environment",
    against,
    edits: [
      {
        file: "gateway-mock/src/dispatch/events/id-seed.ts",
        find: "if (environment === DEFAULT_ENVIRONMENT) return entropy;",
        replace: "return entropy;",
      },
    ],
  },
  {
    name: "a run waits for what comes in its environment",
    against,
    edits: [
      {
        file: "packages/engine/src/decide/waits.ts",
        find: 'wait.kind === "invoke" ? wait.name : qualify(environmentOf(draft.state.functionId), wait.name);',
        replace: "wait.name;",
      },
    ],
  },
  {
    name: "a signal is for those who wait in its environment",
    against,
    edits: [
      {
        file: "gateway-mock/src/dispatch/queue/wait-notifier.ts",
        find: "const waited = qualify(environment, name);",
        replace: "const waited = name;",
      },
    ],
  },
  {
    name: "a run is cancelled by events of its environment",
    against,
    edits: [
      {
        file: "packages/engine/src/flow/cancel-rules.ts",
        find: "name: qualify(environmentOf(functionId), event),",
        replace: "name: event,",
      },
    ],
  },
  {
    name: "a function invokes one of its environment",
    against,
    edits: [
      {
        file: "packages/engine/src/decide/waits.ts",
        find: "const functionId = qualify(environmentOf(state.functionId), slug);",
        replace: "const functionId = slug;",
      },
    ],
  },
  {
    name: "functions belong to the environment of their worker",
    against,
    edits: [
      {
        file: "gateway-mock/src/ws/hello.ts",
        find: "const inEnvironment = records.map((app) => qualifyApp(environment, app));",
        replace: 'const inEnvironment = records.map((app) => qualifyApp("", app));',
      },
    ],
  },
  {
    name: "a session is of the environment that its token was made for",
    against,
    edits: [
      {
        file: "gateway-mock/src/http/keys.ts",
        find: "return good.length > 0 ? environment : undefined;",
        replace: 'return good.length > 0 ? "" : undefined;',
      },
    ],
  },
];
