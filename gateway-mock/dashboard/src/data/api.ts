/** Calls the gateway's API with what the session needs, and says in words what went wrong. */
import { ENVIRONMENT_NAME, MAX_ENVIRONMENT_NAME_LENGTH } from "@holdfast/core";
import { signal } from "@preact/signals";
import { environmentIn } from "./environment-link.ts";

/** What `GET /ui/session` answers. */
export interface SessionView {
  readonly needsKey: boolean;
  readonly session: { readonly csrf: string; readonly endsMs: number; readonly environment: string | null } | null;
  readonly readOnly: boolean;
  /** Why no faults may be asked for; null: they may. */
  readonly noFaults: string | null;
  readonly version: string;
  readonly gatewayId: string;
}

export class ApiError extends Error {
  readonly code: string;
  /** 0: the gateway did not answer. */
  readonly status: number;

  constructor(message: string, code: string, status: number) {
    super(message);
    this.code = code;
    this.status = status;
  }

  /** Whether the code is one of the gateway's. */
  get isExplained(): boolean {
    return this.status !== 0 && this.code !== "UNKNOWN";
  }
}

/** Null until the gateway has said who this is. */
export const session = signal<SessionView | null>(null);

/** Which of its environments a key that opens several looks at; empty: the default one. */
export const environment = signal(readEnvironment());

const ENVIRONMENT = "holdfast-environment";

/** The address says which; where it does not, it is the one that was looked at last. */
function readEnvironment(): string {
  try {
    return environmentIn(location.search) ?? localStorage.getItem("holdfast-environment") ?? "";
  } catch {
    return "";
  }
}

export function chooseEnvironment(name: string): void {
  environment.value = name;
  try {
    localStorage.setItem(ENVIRONMENT, name);
  } catch {
    // A browser that keeps nothing forgets it with the page.
  }
}

/** Whether which environment is looked at is the reader's choice. */
export const opensSeveral = (): boolean => (session.value?.session?.environment ?? null) === null;

export const isSignedIn = (view: SessionView): boolean => !view.needsKey || view.session !== null;

/** Whether verbs are offered. */
export const mayChange = (): boolean => session.value !== null && !session.value.readOnly;

/** @throws ApiError: the environment has a name that none can have, and that no header can carry. */
export function requestHeaders(path: string): Record<string, string> {
  const csrf = session.value?.session?.csrf;
  return {
    ...(csrf === undefined ? {} : { "x-holdfast-csrf": csrf }),
    ...(path.startsWith(OF_ENVIRONMENT) && opensSeveral() ? environmentHeader(environment.value) : {}),
  };
}

/** Who is signed in, and whether the gateway is there, is not of an environment. */
const OF_ENVIRONMENT = "/v1/";

function environmentHeader(name: string): Record<string, string> {
  if (name === "") return {};
  if (ENVIRONMENT_NAME.test(name)) return { "x-inngest-env": name };
  const text = `No environment can be called ${JSON.stringify(name)}: a name has 1 to ${MAX_ENVIRONMENT_NAME_LENGTH} visible ASCII characters and no ":".`;
  throw new ApiError(text, "ENVIRONMENT_INVALID", 400);
}

export interface CallOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** @throws ApiError */
export async function call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
  const { body, signal: end } = options;
  const type = body === undefined ? {} : { "content-type": "application/json" };
  const headers = { ...requestHeaders(path), ...type, ...options.headers };
  const init: RequestInit = { method, headers, cache: "no-store" };
  if (body !== undefined) init.body = JSON.stringify(body);
  if (end) init.signal = end;
  const response = await fetch(path, init).catch((error: unknown) => {
    if (end?.aborted) throw error;
    throw new ApiError("The gateway does not answer.", "UNREACHABLE", 0);
  });
  noteTime(response.headers.get("date"));
  return read<T>(response);
}

/** How far the gateway's clock is ahead of the browser's. */
let aheadMs = 0;

/** Answers say the time in whole seconds. */
const CLOSE_MS = 2_000;

function noteTime(date: string | null): void {
  const ms = Date.parse(date ?? "") - Date.now();
  if (!Number.isNaN(ms)) aheadMs = Math.abs(ms) < CLOSE_MS ? 0 : ms;
}

/** The time at the gateway, about: what is sorted by time there must not depend on the browser's clock. */
export const gatewayNowMs = (): number => Date.now() + aheadMs;

export const get = <T>(path: string, options?: CallOptions): Promise<T> => call<T>("GET", path, options);

export const post = <T>(path: string, body: unknown = {}, headers: CallOptions["headers"] = {}): Promise<T> =>
  call<T>("POST", path, { body, headers });

/** What went wrong: in the page's own words, or in the gateway's, with a code that has a page. */
export type Trouble = string | { readonly text: string; readonly code: string };

/** The words of it, alone. */
export const wordsOf = (trouble: Trouble): string => (typeof trouble === "string" ? trouble : trouble.text);

/** What an error says, for people. */
export function troubleOf(error: unknown): Trouble {
  const text = error instanceof Error ? error.message : String(error);
  return error instanceof ApiError && error.isExplained ? { text, code: error.code } : text;
}

/** The gateway has said that the session is over: the page asks for the key, and stays where it is. */
export function endSession(): void {
  if (session.value?.session) session.value = { ...session.value, session: null };
}

async function read<T>(response: Response): Promise<T> {
  const text = await response.text();
  const answer: unknown = parse(text);
  if (response.ok) return answer as T;
  const { error, code } = (answer ?? {}) as { readonly error?: string; readonly code?: string };
  if (response.status === 401) endSession();
  throw new ApiError(error ?? `The gateway answered ${response.status}.`, code ?? "UNKNOWN", response.status);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
