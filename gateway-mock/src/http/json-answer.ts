/** Answers that contain stored JSON: it is passed on as text, not parsed and written again (docs/decisions/0049). */
import { JsonText } from "@holdfast/engine";
import type { Context } from "hono";

/** JSON that is stored, to be part of an answer as it is: reading it first could take long. */
export function storedJson(text: string): JsonText {
  return new JsonText(text, 1, null);
}

/** Answers with a view that has stored JSON in it. */
export function answerJson(c: Context, view: object): Response {
  return c.body(jsonWith(view), 200, { "Content-Type": "application/json" });
}

/** A view that has stored JSON in it, as text. */
export function jsonWith(value: unknown): string {
  if (value instanceof JsonText) return value.text;
  if (Array.isArray(value)) return `[${value.map(jsonWith).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${jsonWith(field)}`).join(",")}}`;
}
