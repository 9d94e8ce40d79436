/**
 * What the log says of a worker whose apps have just been recorded: that functions of it are gone, or that another build
 * without a version is connected as well, as in a rolling deploy. To the gateway such builds are one, so that runs change
 * between them; what differs only in the body of a handler it cannot see.
 */
import { type Log, messageOf } from "@holdfast/core";
import { type AppRecord, plainName, type Store } from "@holdfast/store";
import { retiredWarning } from "./retired-warning.ts";

/** More than an app has builds in one life of a gateway; what is forgotten is said again. */
const MOST_REMEMBERED = 1_000;

export interface RegistrationWarningsParts {
  readonly store: Pick<Store, "recentBuilds">;
  readonly log: Log;
  /** Where builds change within seconds, as a developer saves files, that is no news. */
  readonly isForDevelopment: boolean;
}

export class RegistrationWarnings {
  readonly #parts: RegistrationWarningsParts;
  readonly #said = new Set<string>();

  constructor(parts: RegistrationWarningsParts) {
    this.#parts = parts;
  }

  /** `isActive`: of the slug of a function. */
  async check(apps: readonly AppRecord[], isActive: (slug: string) => boolean): Promise<void> {
    const { isForDevelopment, log } = this.#parts;
    for (const app of apps) {
      const retired = retiredWarning(app, isActive);
      if (retired !== null) log("warn", retired);
      if (app.version !== "" || isForDevelopment) continue;
      // The worker is there, whether it can be said or not.
      await this.#compareBuilds(app.id).catch((error: unknown) => {
        log("debug", `The builds of the app "${plainName(app.id)}" could not be compared: ${messageOf(error)}`);
      });
    }
  }

  /** Says a pair of builds once, however often their workers connect. */
  async #compareBuilds(id: string): Promise<void> {
    const builds = await this.#parts.store.recentBuilds(id, "");
    const key = JSON.stringify([id, ...builds]);
    if (builds.length < 2 || this.#said.has(key)) return;
    if (this.#said.size >= MOST_REMEMBERED) this.#said.clear();
    this.#said.add(key);
    this.#parts.log("warn", warningOf(id, builds.length));
  }
}

const warningOf = (appId: string, count: number): string =>
  `Workers of ${count === 2 ? "two" : count} builds of the app "${plainName(appId)}" have been connected within the last minute, and ${count === 2 ? "neither build" : "none of them"} has a version. Either may resume runs that began on the other one, and a run fails where their steps differ. Give each build a version, such as its commit, before you deploy it: \`appVersion\` of the client, or HOLDFAST_APP_VERSION.`;
