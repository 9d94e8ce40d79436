/** A model behind the usual API for chats. MODEL_URL says where; most providers and local servers have it. */
import { NonRetriableError, RetryAfterError, stepSignal } from "holdfast";
import { descriptions } from "./tools.ts";

export interface ToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

export type Message =
  | { readonly role: "user"; readonly content: string }
  | { readonly role: "assistant"; readonly content: string; readonly tool_calls?: readonly ToolCall[] }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string };

type Reply = Extract<Message, { role: "assistant" }>;

export async function askModel(messages: readonly Message[]): Promise<Reply> {
  const response = await fetch(`${process.env.MODEL_URL}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${process.env.MODEL_KEY ?? ""}` },
    body: JSON.stringify({ model: process.env.MODEL ?? "default", messages, tools: descriptions }),
    signal: stepSignal(),
  });
  if (response.status === 429) {
    throw new RetryAfterError("The model is busy.", `${response.headers.get("retry-after") ?? 10}s`);
  }
  if (response.status >= 500) throw new Error(`The model answered ${response.status}.`);
  if (!response.ok) throw new NonRetriableError(`The model refuses: ${await response.text()}`);
  const { choices } = (await response.json()) as { choices: [{ message: Reply }] };
  return choices[0].message;
}
