/** Signing in and out. A one-time link is used up once, and leaves the address at once. */
import { call, isSignedIn, type SessionView, session } from "./api.ts";

const PATH = "/ui/session";

/** Asks who this is; with a one-time link in the address it signs in first. Returns what kept it from that. */
export async function openSession(): Promise<string | null> {
  const link = /^#link=([\w-]+)$/.exec(location.hash)?.[1];
  if (link !== undefined) history.replaceState(null, "", location.pathname + location.search);
  const now = await call<SessionView>("GET", PATH);
  session.value = now;
  if (link === undefined || isSignedIn(now)) return null;
  return signIn({ link });
}

/** Null: it worked. */
export async function signIn(by: { readonly key: string } | { readonly link: string }): Promise<string | null> {
  try {
    session.value = await call<SessionView>("POST", PATH, { body: by });
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

export async function signOut(): Promise<void> {
  session.value = await call<SessionView>("DELETE", PATH);
}
