/** Runs the functions. Any number of these may run; SIGTERM lets each finish or hand back what it has. */
import { app, order } from "./orders.ts";

await app.connect({ functions: [order] });
