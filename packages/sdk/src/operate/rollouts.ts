/** `operate(app).rollouts`: which version of an app new runs begin with. */
import { callFor, type OperatedClient, segment } from "./call-gateway.ts";

export interface RolloutOptions {
  /**
   * The percentage of new runs that start with the version, 0 to 100; the others start with the newest other version.
   * Default 100.
   * @example percent: 10
   */
  readonly percent?: number;
  /**
   * The app. Default: the client's own.
   * @example app: "shop"
   */
  readonly app?: string;
}

/** What new runs of an app begin with. */
export interface RolloutState {
  readonly appId: string;
  /** False: it was so before. */
  readonly changed: boolean;
  /** Null: with the newest version. */
  readonly rollout: {
    readonly version: string;
    readonly percent: number;
    readonly sinceAt: string;
    readonly sinceMs: number;
  } | null;
  /** Those that the app has, the newest first. */
  readonly versions: readonly string[];
}

export interface RolloutsApi {
  /**
   * Begins so many in a hundred of an app's new runs with a version. Runs that have begun stay with theirs.
   * @throws HoldfastError `NOT_FOUND`, `OPTION_INVALID` when the app has no such version, `GATEWAY_UNREACHABLE`,
   *   `UNAUTHORIZED`
   */
  set(version: string, options?: RolloutOptions): Promise<RolloutState>;
  /**
   * Begins all new runs with the newest version again.
   * @throws HoldfastError `NOT_FOUND`, `GATEWAY_UNREACHABLE`, `UNAUTHORIZED`
   */
  end(options?: Pick<RolloutOptions, "app">): Promise<RolloutState>;
}

export function rolloutsApi(client: OperatedClient): RolloutsApi {
  const pathOf = (app = client.options.id): string => `v1/apps/${segment(app)}/rollout`;
  return {
    set: (version, { percent = 100, app } = {}) =>
      callFor(client, { path: pathOf(app), method: "PUT", body: { version, percent } }),
    end: ({ app } = {}) => callFor(client, { path: pathOf(app), method: "DELETE" }),
  };
}
