/**
 * Replies and checkpoints that come by HTTP instead of a socket. They show by a proof in themselves whose they are
 * (`Ownership`); then they go the way of all (`WorkerReplies`).
 */
import { HoldfastError } from "@holdfast/core";
import type { Op, SdkResponse } from "@holdfast/protocol";
import type { Ownership } from "../workers/ownership.ts";
import { parseQueueItem } from "../workers/request-id.ts";
import type { CheckpointResult } from "./checkpoint-result.ts";
import type { WorkerReplies } from "./worker-replies.ts";

/** What workers report by HTTP, without a session: the report itself has to show whose it is. */
export class HttpReports {
  readonly #reports: WorkerReplies;
  readonly #ownership: Ownership;

  constructor(reports: WorkerReplies, ownership: Ownership) {
    this.#reports = reports;
    this.#ownership = ownership;
  }

  /**
   * Takes a reply. Resolves when it is durable, or no longer wanted.
   * @throws HoldfastError `REQUEST_NOT_OWNED`, `STORE_FAILED`
   */
  async flush(response: SdkResponse, environment: string): Promise<void> {
    const isOurs = response.sdkVersion.startsWith("holdfast-js:");
    if (!(await this.#reports.reply(response, isOurs, this.#ownership.byReply(response, environment))))
      throw notOwned("reply");
  }

  /**
   * Stores finished steps of a request that goes on; `item` is its `ctx.qi_id`.
   * @throws HoldfastError `REQUEST_NOT_OWNED`, `STORE_FAILED`
   */
  async checkpoint(item: string, runId: string, ops: readonly Op[], environment: string): Promise<CheckpointResult> {
    const name = { ...parseQueueItem(item), runId };
    const result = await this.#reports.checkpoint(name, ops, this.#ownership.byCheckpoint(name, environment));
    if (result.foreign) throw notOwned("checkpoint");
    return result;
  }
}

const notOwned = (what: string): HoldfastError =>
  new HoldfastError("REQUEST_NOT_OWNED", `The ${what} is about a request that was dispatched to another app.`);
