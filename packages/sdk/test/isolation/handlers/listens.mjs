/** A module that starts a server where it is loaded, and does not care whether it can. */
import { createServer } from "node:http";

try {
  createServer().listen(0);
} catch {}

export const any = () => 1;
