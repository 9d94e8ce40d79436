/**
 * What a handler in a pool thread asks of the test that runs it (`FunctionTest` with `isolation: "real"`): a body that the
 * test has put in place of the author's, and everything that would go to a gateway. Over a port of its own, so that the
 * protocols of apps say nothing of tests.
 */
import type { MessagePort } from "node:worker_threads";
import type { ResultJson } from "../../execution/result-json.ts";
import type { Thrown } from "../../execution/thrown.ts";
import type { AppClient } from "../../functions/app-client.ts";

/** What a thread is given that runs handlers for a test. */
export interface TestDouble {
  readonly port: MessagePort;
  /** Ids of the steps whose bodies are the test's. */
  readonly mocked: readonly string[];
}

type Sent<Way extends "sendEvents" | "sendSignal"> = Parameters<AppClient[Way]>[0];

export type TestCall =
  | { readonly type: "STEP"; readonly fullId: string; readonly args: readonly unknown[] }
  | { readonly type: "SEND_EVENTS"; readonly events: Sent<"sendEvents"> }
  | { readonly type: "SEND_SIGNAL"; readonly signal: Sent<"sendSignal"> }
  | { readonly type: "FETCH_RUN_STATE"; readonly runId: string };

export interface TestQuestion {
  readonly callId: number;
  /** A `TestCall`: what it has of the author's travels as it would to a gateway. */
  readonly callJson: string;
}

/** Each question is answered once. */
export type TestAnswer =
  | { readonly callId: number; readonly type: "value"; readonly json: ResultJson }
  | { readonly callId: number; readonly type: "thrown"; readonly thrown: Thrown };

/** Whether the id, or that of all repeats of it, is among those that are mocked. */
export function mockOf<Mock>(find: (id: string) => Mock | undefined, fullId: string): Mock | undefined {
  return find(fullId) ?? find(fullId.replace(/:\d+$/, ""));
}
