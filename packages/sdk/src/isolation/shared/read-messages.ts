/** How main and a pool thread read what the other has posted: anything else than a message is refused with a code. */
import { HoldfastError } from "@holdfast/core";
import {
  COMMAND_TYPES,
  checkPort,
  checkSize,
  ISOLATION_VERSION,
  type IsolationMessage,
  MAX_ANSWER_BYTES,
  MAX_INPUT_BYTES,
  MAX_SHORT_CHARS,
  MAX_SHORT_VALUES,
  type PoolCommand,
  type PoolReport,
  REPORT_TYPES,
  type ShortValues,
} from "./isolation-messages.ts";
import { unpacked } from "./packed-messages.ts";

/** @throws HoldfastError `THREAD_PROTOCOL`, `ISOLATE_PORT`, `ISOLATE_VALUE_INVALID` */
export function readCommand(posted: unknown): PoolCommand {
  const command = readMessage<PoolCommand>(posted, COMMAND_TYPES, "main thread");
  if (command.type === "CONNECTION_PORT") checkPort(command.port);
  if (command.type === "RUN_BODY") checkInput(command.input);
  return command;
}

function checkInput(input: Uint8Array | ShortValues): void {
  if ("byteLength" in input) return checkSize("arguments", input.byteLength, MAX_INPUT_BYTES);
  const chars = input.reduce<number>((sum, value) => sum + (typeof value === "string" ? value.length : 0), 0);
  checkSize("arguments", chars, MAX_SHORT_VALUES * MAX_SHORT_CHARS);
}

/** @throws HoldfastError `THREAD_PROTOCOL`, `ISOLATE_VALUE_INVALID` */
export function readReport(posted: unknown): PoolReport {
  const report = readMessage<PoolReport>(posted, REPORT_TYPES, "pool thread");
  if (report.type === "DONE") checkSize("result", report.json.text.length, MAX_ANSWER_BYTES);
  return report;
}

function readMessage<Message extends IsolationMessage>(
  posted: unknown,
  known: readonly Message["type"][],
  sender: string,
): Message {
  const message = unpacked(posted);
  const { type, version } = (message ?? {}) as { readonly type?: unknown; readonly version?: unknown };
  if (version !== ISOLATION_VERSION) {
    throw new HoldfastError(
      "THREAD_PROTOCOL",
      `The ${sender} speaks version ${String(version)} of the pool's protocol, this thread version ${ISOLATION_VERSION}. Install one version of holdfast.`,
    );
  }
  if (!known.some((one) => one === type)) {
    throw new HoldfastError(
      "THREAD_PROTOCOL",
      `The ${sender} sent a message of unknown type ${JSON.stringify(type) ?? "undefined"}. Install one version of holdfast.`,
    );
  }
  return message as Message;
}
