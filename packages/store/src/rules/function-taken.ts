/** The error for a function name that another app has, and what it advises by who keeps the name. */
import { HoldfastError } from "@holdfast/core";
import { plainName } from "./environment.ts";

/** Who keeps a name: a deployment that is there, only runs that have not ended, or an app of the same connection. */
export type Keeper = "deployment" | "runs" | "connection";

/** Functions of two apps have one slug: app id, dash, function id. */
export function functionTaken(taken: string, by: string, heldBy: string, keeper: Keeper): HoldfastError {
  const [slug, appId, holder] = [plainName(taken), plainName(by), plainName(heldBy)];
  const idIn = (app: string): string => (slug.startsWith(`${app}-`) ? slug.slice(app.length + 1) : slug);
  const both = `Function "${idIn(appId)}" of app "${appId}" and function "${idIn(holder)}" of app "${holder}"`;
  return new HoldfastError("FUNCTION_TAKEN", `${both} have the same full name, "${slug}". ${adviceOf(holder, keeper)}`);
}

function adviceOf(holder: string, keeper: Keeper): string {
  const rename = "Give one of the apps or functions another id";
  switch (keeper) {
    case "connection":
      return `${rename}.`;
    case "deployment":
      return `${rename}; the name is free once no worker of app "${holder}" has had the function for a minute.`;
    case "runs":
      return `${rename}, or cancel the runs of app "${holder}" that have not ended.`;
  }
}
