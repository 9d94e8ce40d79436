/** Sends one event a request. */
import { PlainClient } from "./plain-client.mjs";

export class EventsClient {
  #client;

  /**
   * @param {string} url of the gateway
   * @param {number} connections
   */
  constructor(url, connections) {
    this.#client = new PlainClient(new URL("/e/dev", url), connections);
  }

  /**
   * Resolves with the whole answer.
   * @param {object} event
   * @returns {Promise<void>}
   */
  async send(event) {
    await this.#client.post("application/json", JSON.stringify(event));
  }

  close() {
    this.#client.close();
  }
}
