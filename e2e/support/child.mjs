/** Node processes of the tests, the demo and the benchmark, and what is asked of them over IPC. */
import { spawnNode } from "@holdfast/testing";
import { LIMIT_MS } from "./limits.mjs";

/** @type {Set<Child>} */
const running = new Set();

/**
 * @typedef {object} ChildOptions
 * @property {string} name for messages
 * @property {readonly string[]} [args]
 * @property {Readonly<Record<string, string>>} [env] added to this process's environment
 * @property {string} [node] the Node to run it with; default: the one that runs this
 * @property {readonly string[]} [nodeArgs]
 *
 * @typedef {object} Asked a question that waits for its answer
 * @property {(answer: any) => void} resolve
 * @property {(error: Error) => void} reject
 */

/** A Node process with an IPC channel. It ends when the process that started it does, however that happens. */
export class Child {
  /** @type {string} */
  name;
  #process;
  #nextId = 1;
  /** @type {Map<number, Asked>} */
  #asked = new Map();
  /** @type {any[]} */
  #messages = [];
  /** @type {Set<() => void>} */
  #waiting = new Set();

  /**
   * @param {string} file
   * @param {ChildOptions} options
   */
  constructor(file, { name, args = [], env = {}, node = process.execPath, nodeArgs = [] }) {
    this.name = name;
    // Settings of whoever runs this are none of the child's business.
    const foreign = Object.keys(process.env).filter((key) =>
      /^(HOLDFAST_(?!TOOLING)|INNGEST_|VITEST|NODE_OPTIONS$)/.test(key),
    );
    const cleared = Object.fromEntries(foreign.map((key) => [key, undefined]));
    this.#process = spawnNode(file, {
      name,
      args,
      env: { ...cleared, ...env },
      execPath: node,
      execArgv: nodeArgs,
      ipc: true,
    });
    running.add(this);
    this.exited = this.#process.exited.then((exit) => {
      running.delete(this);
      for (const { reject } of this.#asked.values()) reject(this.#ended(exit));
      this.#asked.clear();
      return exit;
    });
    this.#process.onMessage((message) => this.#receive(message));
  }

  get pid() {
    return this.#process.pid;
  }

  get alive() {
    return this.#process.running;
  }

  /** The last lines it printed. */
  tail(lines = 40) {
    return this.#process.lines.slice(-lines).join("\n");
  }

  /**
   * @param {(line: string) => boolean} matches
   * @param {number} timeoutMs
   */
  line(matches, timeoutMs) {
    return this.#process.waitForLine(matches, { timeoutMs });
  }

  /**
   * Resolves with the first message that answers nothing and matches, also one that came already; it is taken.
   * @param {(message: any) => boolean} matches
   * @param {number} [limitMs]
   * @returns {Promise<any>}
   */
  message(matches, limitMs = LIMIT_MS) {
    const found = new Promise((resolve) => {
      const look = () => {
        const index = this.#messages.findIndex(matches);
        if (index < 0) return;
        this.#waiting.delete(look);
        resolve(this.#messages.splice(index, 1)[0]);
      };
      this.#waiting.add(look);
      look();
    });
    return this.#within(limitMs, "did not send the message that was waited for", found);
  }

  /**
   * Asks the process a question over IPC; see `fixtures/serve-test.mjs`.
   * @param {string} ask
   * @param {{ limitMs?: number } & Record<string, unknown>} [more] sent with it
   * @returns {Promise<any>}
   */
  ask(ask, { limitMs = LIMIT_MS, ...more } = {}) {
    const id = this.#nextId++;
    const answered = new Promise((resolve, reject) => this.#asked.set(id, { resolve, reject }));
    answered.catch(() => {});
    this.#process.send({ id, ask, ...more });
    return this.#within(limitMs, `did not answer "${ask}"`, answered);
  }

  /** Ends it with -9 and waits until it is gone. */
  kill() {
    return this.#process.kill("SIGKILL");
  }

  /** @param {NodeJS.Signals} signal */
  signal(signal) {
    this.#process.signal(signal);
  }

  /** Asks it to end, and kills it with all that it started when it does not. */
  async stop(limitMs = 15_000) {
    if (!this.alive) return;
    this.#process.signal("SIGTERM");
    const timer = setTimeout(() => void this.#process[Symbol.asyncDispose](), limitMs);
    await this.exited;
    clearTimeout(timer);
  }

  /** @param {any} message */
  #receive(message) {
    const asked = this.#asked.get(message?.id);
    if (asked === undefined) {
      this.#messages.push(message);
      for (const look of [...this.#waiting]) look();
      return;
    }
    this.#asked.delete(message.id);
    if (message.error === undefined) asked.resolve(message.answer);
    else asked.reject(new Error(`${this.name}: ${message.error}`));
  }

  /** @param {{ code: number | null, signal: NodeJS.Signals | null }} exit */
  #ended({ code, signal }) {
    return new Error(`${this.name} ended (${signal ?? `code ${code}`}).\n${this.tail()}`);
  }

  /**
   * @template T
   * @param {number} limitMs
   * @param {string} what
   * @param {Promise<T>} promise
   * @returns {Promise<T>}
   */
  async #within(limitMs, what, promise) {
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    /** @type {Promise<never>} */
    const late = new Promise((_, reject) => {
      const give = () => reject(new Error(`${this.name} ${what} within ${limitMs} ms.\n${this.tail()}`));
      timer = setTimeout(give, limitMs);
    });
    const gone = this.exited.then((exit) => {
      // What it said last may still be on its way through the event loop.
      return new Promise((_, reject) => setImmediate(() => reject(this.#ended(exit))));
    });
    gone.catch(() => {});
    try {
      return await Promise.race([promise, late, /** @type {Promise<never>} */ (gone)]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Ends every process that is still there. */
export async function endAll() {
  await Promise.all([...running].map((child) => child.stop()));
}
