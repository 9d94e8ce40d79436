/**
 * A process of its own that asks an address every 20 ms until its channel closes: `{ ask: "delays" }` gives how long
 * each answer took, or has taken so far, in milliseconds, since the last time that it was asked.
 */
import { Agent, get } from "node:http";

const url = process.argv[2] ?? "";
const agent = new Agent({ keepAlive: true });
/** @type {number[]} */
let delays = [];
/** When those that are not answered yet were asked; of earlier questions they are no part of the answer. */
let open = new Set();
let isOver = false;

function probe() {
  if (isOver) return;
  const from = performance.now();
  const asked = { from };
  const those = open.add(asked);
  get(url, { agent }, (response) => {
    response.resume();
    response.on("end", () => {
      if (those === open && open.delete(asked)) delays.push(performance.now() - from);
    });
  }).on("error", () => {});
}

const timer = setInterval(probe, 20);
process.on("message", (/** @type {{ id: number }} */ { id }) => {
  const now = performance.now();
  process.send?.({ id, answer: [...delays, ...[...open].map(({ from }) => now - from)] });
  delays = [];
  open = new Set();
});
process.on("disconnect", () => {
  isOver = true;
  clearInterval(timer);
  agent.destroy();
});
process.send?.({ ready: true });
