/** The functions of an app by the names that requests use. What an app says when it connects is made from it. */
import { HoldfastError } from "@holdfast/core";
import { encodeJsonBytes } from "@holdfast/protocol";
import type { StandardSchema } from "../events/standard-schema.ts";
import type { AppClient } from "./app-client.ts";
import { definitionOf, type FunctionDefinition, type HoldfastFunction } from "./define-function.ts";
import { EventSchemas } from "./event-schemas.ts";

/** An app as it is given to `connect`. */
export interface AppInput {
  readonly client: AppClient;
  readonly functions: readonly HoldfastFunction[];
}

export interface AppManifest {
  readonly appName: string;
  readonly appVersion?: string;
  /** JSON array of function configurations. */
  readonly functions: Uint8Array;
}

/** A function as requests name it: a handler of failures is one of its own. */
export interface RegisteredFunction {
  readonly client: AppClient;
  readonly slug: string;
  readonly definition: FunctionDefinition;
  readonly isFailureHandler: boolean;
}

export interface Registry {
  find(appName: string, slug: string): RegisteredFunction | undefined;
  /** The slugs of an app, for messages. */
  slugs(appName: string): readonly string[];
}

/**
 * What an app says of itself when it connects; `eventSchemas` are those of the connection.
 * @throws HoldfastError `FUNCTION_INVALID`, `FUNCTION_DUPLICATE`
 */
export function appManifest(
  client: AppClient,
  functions: readonly HoldfastFunction[],
  eventSchemas: EventSchemas = new EventSchemas(),
): AppManifest {
  const { id, appVersion } = client.options;
  const configs = checkedDefinitions(client, functions).flatMap(({ config, failureConfig, schemas }) => {
    const full = eventSchemas.addedTo(config, schemas, client.schemas);
    return failureConfig ? [full, failureConfig] : [full];
  });
  return {
    appName: id,
    ...(appVersion === undefined ? {} : { appVersion }),
    functions: encodeJsonBytes(configs),
  };
}

/** What is probably misspelt in the options of functions, to be logged when they connect. */
export function registrationHints(apps: readonly AppInput[]): readonly string[] {
  return apps.flatMap(({ functions }) =>
    functions.flatMap((fn) => (definitionOf(fn)?.hints ?? []).map((hint) => `Function "${fn.slug}": ${hint}`)),
  );
}

/** @throws HoldfastError `FUNCTION_INVALID`, `FUNCTION_DUPLICATE`, `OPTION_INVALID` */
export function createRegistry(apps: readonly AppInput[]): Registry {
  const byApp = new Map<string, Map<string, RegisteredFunction>>();
  for (const { client, functions } of apps) {
    const appName = client.options.id;
    if (byApp.has(appName)) {
      throw new HoldfastError(
        "OPTION_INVALID",
        `The app "${appName}" is listed twice: put all its functions into one entry.`,
      );
    }
    const bySlug = new Map<string, RegisteredFunction>();
    for (const definition of checkedDefinitions(client, functions)) {
      const { config, failureConfig } = definition;
      bySlug.set(config.id, { client, slug: config.id, definition, isFailureHandler: false });
      if (failureConfig)
        bySlug.set(failureConfig.id, { client, slug: failureConfig.id, definition, isFailureHandler: true });
    }
    byApp.set(appName, bySlug);
  }
  return {
    find: (appName, slug) => byApp.get(appName)?.get(slug),
    slugs: (appName) => [...(byApp.get(appName)?.keys() ?? [])],
  };
}

function checkedDefinitions(client: AppClient, functions: readonly HoldfastFunction[]): FunctionDefinition[] {
  const slugs = new Set<string>();
  return functions.map((fn, index) => {
    const definition = definitionOf(fn);
    if (definition === undefined) {
      throw new HoldfastError("FUNCTION_INVALID", `functions[${index}] was not created by createFunction().`);
    }
    if (definition.appId !== client.options.id) {
      throw new HoldfastError(
        "FUNCTION_INVALID",
        `Function "${fn.id}" belongs to the app "${definition.appId}", not to "${client.options.id}": connect it with its own client.`,
      );
    }
    const first = functions.indexOf(fn);
    if (first !== index) {
      throw new HoldfastError(
        "FUNCTION_DUPLICATE",
        `functions[${first}] and functions[${index}] are the same function "${definition.config.id}": list it once.`,
      );
    }
    for (const config of [definition.config, definition.failureConfig]) {
      if (config === undefined) continue;
      if (slugs.has(config.id)) {
        throw new HoldfastError(
          "FUNCTION_DUPLICATE",
          `Two functions of the app "${client.options.id}" have the id "${config.id}".`,
        );
      }
      slugs.add(config.id);
    }
    return definition;
  });
}

/** An invocation has the data of the function's event, where it has one alone. */
export function onlyEventOf({ config: { triggers } }: FunctionDefinition): string | undefined {
  return triggers.length === 1 ? triggers[0]?.event : undefined;
}

/** The schema for the data of an event that reaches this function. */
export function schemaFor(
  fn: Pick<RegisteredFunction, "definition" | "client">,
  eventName: string,
): StandardSchema | undefined {
  const { schemas } = fn.definition;
  const shared = fn.client.schemas;
  return schemas.get(eventName) ?? (shared && Object.hasOwn(shared, eventName) ? shared[eventName] : undefined);
}
