/** The thread that `dev` and `start` are carried out in. It ends with their exit code. */
import { parentPort, workerData } from "node:worker_threads";
import { invariant } from "@holdfast/core";
import { carryOut } from "../carry-out.ts";
import { exitCodeOf } from "../exit-codes.ts";
import { failureText } from "../failure-text.ts";
import { outputOf } from "../output.ts";
import { serve } from "./serve.ts";
import type { ThreadData, ToThread } from "./thread-messages.ts";
import { threadOutput } from "./thread-output.ts";

invariant(parentPort !== null, "This file is run as a thread.");
const port = parentPort;
const data: ThreadData = workerData;
const { env, argv } = process;
const { stdout, stderr, resized } = threadOutput(port, data);

/** Stops that come before the gateway is asked to start are not lost. */
let stops = 0;
let onStop = (): void => {
  stops += 1;
};

port.on("message", (message: ToThread) => {
  if (message.type === "stop") onStop();
  else resized(message.stream, message.facts);
});

const host = {
  script: data.script,
  terminal: stderr,
  onStopAsked: (listener: () => void): void => {
    onStop = listener;
    for (; stops > 0; stops -= 1) listener();
  },
};

const output = outputOf({ stdout, stderr }, env);
const { columns } = stdout;
carryOut(argv.slice(2), { env, output, columns, serve: (mode, context) => serve(mode, context, host) }).then(
  (code) => process.exit(code),
  (error: unknown) => {
    stderr.write(failureText(error, { argv, env, isTerminal: stderr.isTTY }));
    process.exit(exitCodeOf(error));
  },
);
