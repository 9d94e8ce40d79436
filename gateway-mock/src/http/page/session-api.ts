/** Routes by which the dashboard's user signs in and out, and by which the page learns who it is for. */
import { HoldfastError } from "@holdfast/core";
import type { Context, Hono } from "hono";
import Type from "typebox";

import { limitBody } from "../bodies.ts";
import { bodyOf } from "../body-fields.ts";
import { type Bearer, shownEnvironment } from "../keys.ts";
import { describe } from "../openapi/describe-route.ts";
import { Ms, orNull } from "../openapi/schemas.ts";
import type { HttpParts } from "../parts.ts";
import { SESSION_PATH } from "./serve-page.ts";
import { checkOwnPage, checkToken, type PageParts } from "./session-guard.ts";
import { SESSION_COOKIE, SESSION_MS, type Session } from "./sessions.ts";

const MAX_BODY_BYTES = 4 * 1024;

const SessionSchema = Type.Object(
  {
    needsKey: Type.Boolean({
      description: "False: the gateway has no keys, and everyone on this machine may do everything.",
    }),
    session: orNull(
      Type.Object({
        csrf: Type.String({ description: "For the header `x-holdfast-csrf` of whatever changes something." }),
        endsMs: Ms,
        environment: orNull(Type.String({ description: "The key's own; null: it opens any." })),
      }),
    ),
    readOnly: Type.Boolean(),
    noFaults: orNull(Type.String({ description: "Why no faults may be asked for; null: they may." })),
    version: Type.String(),
    gatewayId: Type.String(),
  },
  { title: "DashboardSession" },
);

const GET = describe({
  operationId: "getDashboardSession",
  summary: "Whether the browser is signed in to the dashboard.",
  tag: "dashboard",
  answers: { 200: SessionSchema },
});

const POST = describe({
  operationId: "signIn",
  summary: "Signs a browser in to the dashboard with a signing key or a one-time link, and sets the cookie.",
  tag: "dashboard",
  body: {
    contentType: "application/json",
    schema: Type.Object({
      key: Type.Optional(Type.String({ description: "The signing key, or its hash." })),
      link: Type.Optional(Type.String({ description: "The part of a one-time link after `#link=`." })),
    }),
  },
  answers: { 200: SessionSchema },
  failures: { 401: "The key is wrong, or the link has been used or has expired." },
});

const DELETE = describe({
  operationId: "signOut",
  summary: "Signs a browser out of the dashboard.",
  tag: "dashboard",
  answers: { 200: SessionSchema },
  failures: { 403: "The request did not come from the page of the session." },
});

export function sessionApi(app: Hono, parts: HttpParts, page: PageParts): void {
  const { keys, version, gatewayId, faults } = parts;
  const view = (session: Session | undefined): object => ({
    needsKey: keys.enforced,
    session: session
      ? {
          csrf: session.csrf,
          endsMs: session.endsMs,
          environment: session.bearer.environment === null ? null : shownEnvironment(session.bearer.environment),
        }
      : null,
    readOnly: page.mode === "read-only",
    noFaults: typeof faults === "string" ? faults : null,
    version,
    gatewayId,
  });
  const answer = (c: Context, session: Session | undefined): Response => {
    c.header("Cache-Control", "no-store");
    return c.json(view(session));
  };

  app.get(SESSION_PATH, GET, (c) => answer(c, page.sessions.read(c.req.header("cookie"))));

  app.post(SESSION_PATH, POST, limitBody(MAX_BODY_BYTES), async (c) => {
    const { session, cookie } = page.sessions.begin(bearerOf(await bodyOf(c, ["key", "link"]), parts, page));
    c.header("Set-Cookie", cookieText(c, cookie, SESSION_MS));
    return answer(c, session);
  });

  app.delete(SESSION_PATH, DELETE, (c) => {
    const session = page.sessions.read(c.req.header("cookie"));
    if (session) {
      checkOwnPage(c, page.callers);
      checkToken(c, session);
      page.sessions.end(session);
    }
    c.header("Set-Cookie", cookieText(c, "", 0));
    return answer(c, undefined);
  });
}

function bearerOf({ key, link }: Readonly<Record<string, unknown>>, { keys }: HttpParts, page: PageParts): Bearer {
  if (typeof link === "string") {
    const bearer = page.sessions.redeem(link);
    if (bearer) return bearer;
    throw new HoldfastError("UNAUTHORIZED", "This link has been used or has expired. Sign in with the signing key.");
  }
  if (typeof key !== "string") throw new HoldfastError("BODY_INVALID", "Give `key`, the signing key, or `link`.");
  const bearer = keys.signer(`Bearer ${key.trim()}`);
  if (bearer) return bearer;
  throw new HoldfastError("UNAUTHORIZED", "This is not a signing key of this gateway.");
}

/** Behind a proxy that speaks TLS the browser's own word says so: the page's origin. */
function cookieText(c: Context, value: string, ageMs: number): string {
  const isSecure = c.req.header("origin")?.startsWith("https:") === true || c.req.url.startsWith("https:");
  const secure = isSecure ? "; Secure" : "";
  return `${SESSION_COOKIE}=${value}; Path=/; Max-Age=${ageMs / 1000}; HttpOnly; SameSite=Strict${secure}`;
}
