/**
 * Outlives its parent by a moment: when the parent is gone without having ended its children (kill -9), ends them.
 * Standard input names the groups that run: `+ marker pid` and `- marker`; its end is the parent's end.
 */
import { createInterface } from "node:readline";
import { endGroup } from "./processes.mjs";

/** @type {Map<string, number>} */
const groups = new Map();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});

for await (const line of createInterface({ input: process.stdin })) {
  const [sign, marker = "", pid] = line.split(" ");
  if (sign === "+") groups.set(marker, Number(pid));
  else groups.delete(marker);
}
await Promise.all([...groups].map(([marker, group]) => endGroup(marker, group)));
