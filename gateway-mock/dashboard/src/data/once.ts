/** Requests that make runs or events have a name: one that is sent again, as no answer came, counts once. */
import { ulidFromSeed } from "@holdfast/core";
import { ApiError, gatewayNowMs } from "./api.ts";

export interface RequestName {
  /** For routes that take it as a header. */
  readonly headers: Readonly<Record<string, string>>;
  /** For those that take an id of what is made. */
  readonly ulid: string;
}

const unanswered = new Map<string, { readonly name: RequestName; readonly atMs: number }>();

/** Who asks for the same later than this wants it once more. */
const FORGOTTEN_MS = 10 * 60_000;

/**
 * Has the request made under a name. Asked for the same again, it has the same name while the gateway has not said what
 * became of it.
 */
export async function once<T>(what: string, request: (name: RequestName) => Promise<T>): Promise<T> {
  const nowMs = gatewayNowMs();
  const before = unanswered.get(what);
  const known = before !== undefined && nowMs - before.atMs < FORGOTTEN_MS ? before : undefined;
  const { name } = known ?? { name: newName(nowMs) };
  unanswered.set(what, known ?? { name, atMs: nowMs });
  try {
    const answer = await request(name);
    unanswered.delete(what);
    return answer;
  } catch (error) {
    if (isRefused(error)) unanswered.delete(what);
    throw error;
  }
}

/** The gateway has said that nothing was made. After anything else it may have been. */
const isRefused = (error: unknown): boolean => error instanceof ApiError && error.status >= 400 && error.status < 500;

function newName(atMs: number): RequestName {
  const entropy = crypto.getRandomValues(new Uint8Array(10));
  return {
    headers: { "x-inngest-event-id-seed": `${atMs},${btoa(String.fromCharCode(...entropy))}` },
    ulid: ulidFromSeed(atMs, entropy, 0),
  };
}
