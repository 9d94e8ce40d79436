/**
 * The process in which the build of an app is loaded and replays runs: whatever that does to its process, such as ending
 * or blocking it, the command that started this one can say so. Its stdout is the stderr of the command.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { Worker } from "node:worker_threads";
import { HoldfastError, invariant, messageOf, systemTimers } from "@holdfast/core";
import { type AppModule, loadApp } from "./app-module.ts";
import type { FromReplay, ToReplay } from "./replay-messages.ts";

/** How long what handlers have left behind may take to show that it fails. */
const LEFT_BEHIND_MS = 250;

/**
 * Code that blocks this thread never hears that the command was killed. A thread of its own does: the process then has
 * another parent.
 */
const WATCH = `const { ppid } = process;
setInterval(() => { if (process.ppid !== ppid) process.kill(process.pid, "SIGKILL"); }, 500);`;
new Worker(WATCH, { eval: true, execArgv: [] }).unref();

const { channel, send: sendTo } = process;
invariant(channel !== undefined && sendTo !== undefined, "This file is run as a process with a channel.");
// An app would take the command for what its own parent is elsewhere, and tell it that it is ready.
delete process.send;

const runs = new AsyncLocalStorage<string>();
let app: AppModule | undefined;
let file = "";

function send(message: FromReplay, sent = (): void => {}): void {
  sendTo?.call(process, message, sent);
}

async function carryOut(message: ToReplay): Promise<FromReplay> {
  if (message.type === "load") {
    file = message.app;
    app = await loadApp(message, () => send({ type: "loading" }));
    return { type: "loaded", functions: app.functions };
  }
  if (message.type === "finish") return nothingLeft().then(() => ({ type: "finished" }));
  invariant(app !== undefined, "Runs are replayed once the app is loaded.");
  const { runId, replay } = app.read(message.line);
  return { type: "replayed", result: await runs.run(runId, replay) };
}

/** Timers of handlers have had their turn, or take long. */
function nothingLeft(): Promise<void> {
  return new Promise((resolve) => {
    process.once("beforeExit", () => resolve());
    systemTimers.set(LEFT_BEHIND_MS, resolve, { unref: true });
  });
}

process.on("message", (message: ToReplay) => {
  // What is not over once nothing else is left to wait for will never be.
  channel.unref();
  carryOut(message)
    .catch(refusedBy)
    .then((answer) => {
      channel.ref();
      send(answer);
    });
});

function refusedBy(error: unknown): FromReplay {
  return { type: "refused", code: HoldfastError.is(error) ? error.code : null, message: messageOf(error) };
}

process.on("uncaughtException", (error: unknown) => {
  // An app that listens itself decides what becomes of it.
  if (process.listenerCount("uncaughtException") > 1) return;
  console.error(error);
  const message = messageOf(error);
  const end = (): void => process.exit(1);
  if (app) send({ type: "threw", runId: runs.getStore() ?? null, message }, end);
  else
    send(
      { type: "refused", code: "REPLAY_APP_INVALID", message: `${file} throws while it is loaded: ${message}` },
      end,
    );
});

process.on("exit", () => send({ type: "exited", runId: runs.getStore() ?? null }));
process.on("disconnect", () => process.exit());
