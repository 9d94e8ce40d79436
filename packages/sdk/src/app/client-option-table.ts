/**
 * Every option of `new Holdfast()`, a row each: `resolve-client-options.ts` reads them, the README's table is made
 * from them and from `client-option-docs.ts`.
 */
import { HoldfastError, readEnvironmentName } from "@holdfast/core";
import { isStandardSchema, type SchemaMap } from "../events/event-types.ts";
import {
  asBoolean,
  asLogger,
  asLogLevel,
  asName,
  asSecretText,
  asText,
  asUrl,
  capitalised,
  invalidOption,
  type OptionParser,
  type OptionRow,
  type OptionTable,
} from "../options.ts";
import type { ClientOptions } from "./client-options.ts";

/** With the function's id it is the function's name to gateways, which take 512 characters. */
const MAX_ID_LENGTH = 200;
const MAX_VERSION_LENGTH = 256;
const BRANCH_VARIABLES = [
  "BRANCH_NAME",
  "VERCEL_GIT_COMMIT_REF",
  "BRANCH",
  "CF_PAGES_BRANCH",
  "RENDER_GIT_BRANCH",
  "RAILWAY_GIT_BRANCH",
];

export const asAppId: OptionParser<string> = (id, source) => {
  if (typeof id === "string" && id.trim() !== "") return asName(MAX_ID_LENGTH)(id, source);
  throw new HoldfastError(
    "OPTION_MISSING",
    'The option `id` is missing: give the client an id, such as `{ id: "my-app" }`.',
  );
};

const asEnvironmentName: OptionParser<string> = (value, source) =>
  readEnvironmentName(asText(value, source), capitalised(source));

const asSchemas: OptionParser<SchemaMap> = (given, source) => {
  if (typeof given !== "object" || given === null) {
    throw invalidOption(source, "must be an object of Standard Schemas by event name.");
  }
  const schemas = given as SchemaMap;
  const wrong = Object.keys(schemas).find((name) => !isStandardSchema(schemas[name]));
  if (wrong === undefined) return schemas;
  throw invalidOption(
    source,
    `has a value for "${wrong}" that is not a Standard Schema (version 1); valibot, zod 3.24+ and arktype produce them.`,
  );
};

const asFunction: OptionParser<unknown> = (value, source) => {
  if (typeof value === "function") return value;
  throw invalidOption(source, "must be a function.");
};

/** Every option of `new Holdfast()`, in the order of the README. */
export const CLIENT_OPTIONS = {
  id: { parse: asAppId },
  appVersion: {
    variables: ["_APP_VERSION"],
    parse: asName(MAX_VERSION_LENGTH),
  },
  isDev: {
    variables: ["_DEV"],
    parse: asBoolean,
  },
  baseUrl: {
    variables: ["_BASE_URL", "_API_BASE_URL", "_EVENT_API_BASE_URL"],
    parse: asUrl(),
  },
  signingKey: {
    variables: ["_SIGNING_KEY"],
    parse: asSecretText,
  },
  signingKeyFallback: {
    variables: ["_SIGNING_KEY_FALLBACK"],
    parse: asSecretText,
  },
  eventKey: {
    variables: ["_EVENT_KEY"],
    parse: asSecretText,
  },
  env: {
    variables: ["_ENV", ...BRANCH_VARIABLES],
    parse: asEnvironmentName,
  },
  logger: { parse: asLogger },
  logLevel: {
    variables: ["_LOG_LEVEL"],
    parse: asLogLevel,
    default: "info",
  },
  schemas: { parse: asSchemas },
  fetch: { parse: asFunction },
} as const satisfies OptionTable<ClientOptions, OptionRow>;
