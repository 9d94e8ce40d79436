/**
 * What apps and events call their things is text from outside: characters that turn the direction of what follows, or
 * that show nothing, would have it look like something else. They are shown as `\ufffd`; what is copied has them.
 */
import { options, type VNode } from "preact";

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be shown as they are.
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

const visible = (text: string): string => text.replaceAll(HIDDEN, "\ufffd");

/** Attributes that are read out or shown. */
const SHOWN = ["title", "aria-label"] as const;

function shown(child: unknown): unknown {
  if (typeof child === "string") return visible(child);
  return Array.isArray(child) ? child.map(shown) : child;
}

function showVisibly({ type, props }: VNode): void {
  if (typeof type !== "string") return;
  const fields = props as Record<string, unknown>;
  if (fields.children !== undefined) fields.children = shown(fields.children);
  for (const name of SHOWN) if (typeof fields[name] === "string") fields[name] = visible(fields[name]);
}

/** Of every element that is made from here on. */
export function neutraliseTexts(): void {
  const before = options.vnode;
  options.vnode = (vnode) => {
    showVisibly(vnode);
    before?.(vnode);
  };
}
