/** Runs `fixtures/pool-kills.mjs`, which ends threads of the pool in every way, in a process of its own. */
import { fileURLToPath } from "node:url";
import { Child } from "./child.mjs";

const file = fileURLToPath(new URL("../fixtures/pool-kills.mjs", import.meta.url));

/**
 * @typedef {{ readonly tasks: number, readonly ports: number, readonly rssMb: number }} Left
 * @typedef {{ readonly status: string, readonly before: Left, readonly after: Left, readonly codes: Record<string, number> }} Kills
 *
 * @param {number} count
 * @returns {Promise<{ readonly kills: Kills | undefined, readonly signal: string | null }>} no kills: the process was
 *   ended by the signal
 */
export async function killThreads(count) {
  const child = new Child(file, { name: "kills", args: [String(count)], nodeArgs: ["--expose-gc"] });
  const message = child.message((one) => one.ready === true, 170_000).catch(() => undefined);
  const [kills, exit] = await Promise.all([Promise.race([message, child.exited.then(() => undefined)]), child.exited]);
  return { kills, signal: exit.signal };
}
