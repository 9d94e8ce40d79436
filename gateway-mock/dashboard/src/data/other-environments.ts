/** Looks for a run that is not in the environment that is looked at, in the others that the key opens. */
import { ApiError, environment, get, opensSeveral } from "./api.ts";

export interface KnownEnvironment {
  readonly name: string;
  readonly functions: number;
}

export const ENVIRONMENTS_PATH = "/v1/environments";

/** By the name that people call it. */
export const shownEnvironment = (name: string): string => (name === "" ? "default" : name);

export interface Elsewhere {
  /** The environment that has it; null: none that is known. */
  readonly name: string | null;
  /** Those that were looked into. */
  readonly others: readonly string[];
}

/** Whoever has many environments knows in which one a run is. */
const MOST = 30;

/** `path`: of the API, of the run. Null: the key opens no others. */
export async function lookElsewhere(path: string): Promise<Elsewhere | null> {
  if (!opensSeveral()) return null;
  const here = shownEnvironment(environment.value);
  const { environments } = await get<{ environments: readonly KnownEnvironment[] }>(ENVIRONMENTS_PATH);
  const others = environments.map(({ name }) => name).filter((name) => name !== here);
  for (const name of others.slice(0, MOST)) if (await isIn(name, path)) return { name, others };
  return { name: null, others };
}

const isIn = (name: string, path: string): Promise<boolean> =>
  get(path, { headers: { "x-inngest-env": name } }).then(
    () => true,
    (error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return false;
      throw error;
    },
  );
