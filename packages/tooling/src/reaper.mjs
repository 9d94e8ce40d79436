/**
 * Outlives its parent by a moment: when the parent is gone without having ended its children (kill -9), ends them.
 * Standard input names the groups that run: `+ marker pid` and `- marker`, and temporary folders:
 * `> path` and `< path`. Its end is the parent's end.
 */
import { createInterface } from "node:readline";
import { endGroup, removeFolder } from "./processes.mjs";

/** @type {Map<string, number>} */
const groups = new Map();
/** @type {Set<string>} */
const folders = new Set();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});

for await (const line of createInterface({ input: process.stdin })) {
  const rest = line.slice(2);
  const [marker = "", pid] = rest.split(" ");
  if (line.startsWith("+")) groups.set(marker, Number(pid));
  else if (line.startsWith("-")) groups.delete(marker);
  else if (line.startsWith(">")) folders.add(rest);
  else folders.delete(rest);
}
await Promise.all([...groups].map(([marker, group]) => endGroup(marker, group)));
for (const folder of folders) removeFolder(folder);
