/**
 * Posts over connections that stay open, with as little of its own around it as Node allows: `fetch` takes a millisecond
 * of its own on an idle machine, and more CPU time than the gateway under load.
 */
import { Agent, request } from "node:http";

export class PlainClient {
  #agent;
  #url;

  /**
   * @param {URL} url what is posted to
   * @param {number} connections
   */
  constructor(url, connections) {
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
    this.#url = url;
  }

  /**
   * @param {string} contentType
   * @param {string | Uint8Array} body
   * @returns {Promise<Buffer>} the whole answer
   */
  post(contentType, body) {
    return new Promise((resolve, reject) => {
      const headers = { "content-type": contentType, "content-length": Buffer.byteLength(body) };
      const sent = request(this.#url, { method: "POST", agent: this.#agent, headers }, (response) => {
        /** @type {Buffer[]} */
        const chunks = [];
        response.on("data", (chunk) => chunks.push(chunk));
        response.once("end", () => {
          if (response.statusCode === 200) resolve(Buffer.concat(chunks));
          else reject(new Error(`POST ${this.#url.pathname} answered ${response.statusCode}.`));
        });
      });
      sent.once("error", reject);
      sent.end(body);
    });
  }

  close() {
    this.#agent.destroy();
  }
}
