/** Finds the function that people name in whatever way: its full name, its id, or the id that its author gave. */
import { HoldfastError, nearestName } from "@holdfast/core";
import { plainName, qualify } from "@holdfast/store";
import { isProbe } from "../../probe.ts";
import type { Functions, KnownFunction } from "./functions.ts";

const MOST_NAMED = 20;

/**
 * Of this environment: `shop-order`, its uuid, or `order` where just one app has a function of that id. One that another
 * gateway has stored a moment ago is found as well.
 * @throws HoldfastError `NOT_FOUND`, which names those that come close; `OPTION_INVALID` when several apps have it
 */
export async function findFunction(functions: Functions, environment: string, name: string): Promise<KnownFunction> {
  const { version } = functions;
  try {
    return find(functions, environment, name);
  } catch (error) {
    await functions.renewIfChanged();
    if (functions.version === version) throw error;
    return find(functions, environment, name);
  }
}

function find(functions: Functions, environment: string, name: string): KnownFunction {
  const exact = functions.get(qualify(environment, name));
  if (exact) return exact;
  const here = [...functions.all()].filter((fn) => fn.environment === environment);
  const byUuid = here.find(({ uuid }) => uuid === name.toLowerCase());
  if (byUuid) return byUuid;
  const short = here.filter(({ id, appId }) => plainName(id) === `${plainName(appId)}-${name}`);
  const [only] = short;
  if (only && short.length === 1) return only;
  const asked = JSON.stringify(name.slice(0, 80));
  const listed = (some: readonly KnownFunction[]): string =>
    some
      .slice(0, MOST_NAMED)
      .map(({ id }) => plainName(id))
      .join(", ");
  if (short.length > 1) {
    throw new HoldfastError("OPTION_INVALID", `Several apps have a function ${asked}: give one of ${listed(short)}.`);
  }
  const shown = here.filter((fn) => !isProbe(fn));
  throw new HoldfastError("NOT_FOUND", `There is no function ${asked}.${hint(name, shown, listed, environment)}`);
}

function hint(
  name: string,
  here: readonly KnownFunction[],
  listed: (some: readonly KnownFunction[]) => string,
  environment: string,
): string {
  const where = environment === "" ? "" : ` in the environment ${JSON.stringify(environment)}`;
  if (here.length === 0) return ` No app has connected${where} yet; a function is there once its app has.`;
  const near = nearest(name, here);
  if (near !== undefined) return ` Did you mean ${JSON.stringify(near)}?`;
  const others = here.length <= MOST_NAMED ? `There are ${listed(here)}.` : "GET /v1/functions lists all of them.";
  return ` No app that has it has connected${where} yet. ${others}`;
}

/** Of the app that the name begins with, if that is known; of other apps only what is one letter away. */
function nearest(name: string, here: readonly KnownFunction[]): string | undefined {
  const ofApp = here.filter(({ appId }) => name.startsWith(`${plainName(appId)}-`));
  const own = nearestName(
    name,
    ofApp.map(({ id }) => plainName(id)),
  );
  if (own !== undefined) return own;
  const byName = new Map(
    here.flatMap(({ id, appId }) => {
      const full = plainName(id);
      return [full, full.slice(plainName(appId).length + 1)].map((one) => [one, full] as const);
    }),
  );
  return byName.get(nearestName(name, [...byName.keys()], 1) ?? "");
}
