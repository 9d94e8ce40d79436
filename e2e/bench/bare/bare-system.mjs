/**
 * The same way without Holdfast: an HTTP request, a commit, a socket, a thread, the same back, another commit. What that
 * takes on a machine, in the same minute, is what a latency can be compared with.
 */
import { fileURLToPath } from "node:url";
import { Child } from "../../support/child.mjs";
import { EventsClient } from "../events-client.mjs";

/** @param {string} name */
const program = (name) => fileURLToPath(new URL(name, import.meta.url));

export class BareSystem {
  #gateway;
  #app;
  #client;

  /**
   * @param {Child} gateway
   * @param {Child} app
   * @param {number} port
   */
  constructor(gateway, app, port) {
    this.#gateway = gateway;
    this.#app = app;
    this.#client = new EventsClient(`http://127.0.0.1:${port}`, 1);
  }

  /** @param {string} databaseUrl its tables are in a schema of their own */
  static async open(databaseUrl) {
    const gateway = new Child(program("gateway.mjs"), { name: "The bare gateway", args: [databaseUrl] });
    const { port } = await gateway.message((message) => message.port !== undefined);
    const app = new Child(program("app.mjs"), { name: "The bare app", args: [String(port)] });
    await app.message((message) => message.ready === true);
    return new BareSystem(gateway, app, port);
  }

  /**
   * From before the event's request until the app knows that the end is durable, milliseconds.
   * @param {object} event
   */
  async trip(event) {
    const stored = this.#app.message((message) => message.stored !== undefined);
    const start = performance.now();
    await this.#client.send(event);
    await stored;
    return performance.now() - start;
  }

  async close() {
    this.#client.close();
    await Promise.all([this.#app.stop(), this.#gateway.stop()]);
  }
}
