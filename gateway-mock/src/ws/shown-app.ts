import { DEFAULT_ENVIRONMENT, environmentOf, plainName } from "@holdfast/store";

/** An app as the log names it: `ops`, `ops in production`. */
export function shownApp(appId: string): string {
  const environment = environmentOf(appId);
  return environment === DEFAULT_ENVIRONMENT ? plainName(appId) : `${plainName(appId)} in ${environment}`;
}
