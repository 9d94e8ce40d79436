import { expect, test } from "vitest";
import { Keys, type NamedKey } from "../../src/http/keys.ts";
import { LINK_MS, PageSessions, SESSION_COOKIE, SESSION_MS } from "../../src/http/page/sessions.ts";

const key = (name: string, digit: string, environment: string | null = null): NamedKey => {
  return { name, key: digit.repeat(32), environment };
};
const keysOf = (...signingKeys: NamedKey[]): Keys => new Keys({ signingKeys, eventKeys: [], tokenMs: 1 });

function build(keys: Keys, options?: { readonly maxEnded: number }) {
  const clock = { ms: 1_000_000, nowMs: () => clock.ms };
  return { clock, sessions: new PageSessions(keys, clock, options) };
}

const header = (cookie: string): string => `other=1; ${SESSION_COOKIE}=${cookie}; more=2`;

test("a session is taken by every gateway that has its key, and by none that has not", () => {
  const one = key("one", "a");
  const bearer = { keyName: "one", environment: null };
  const { cookie, session } = build(keysOf(one)).sessions.begin(bearer);
  expect(build(keysOf(key("two", "b"), one)).sessions.read(header(cookie))).toEqual(session);
  expect(build(keysOf(key("one", "b"))).sessions.read(header(cookie))).toBeUndefined();
  expect(build(keysOf()).sessions.read(header(cookie))).toBeUndefined();
});

test("a session belongs to the environment of its key", () => {
  const keys = keysOf(key("one", "a"), key("preview", "b", "preview"));
  const { sessions } = build(keys);
  const { cookie } = sessions.begin({ keyName: "preview", environment: "preview" });
  expect(sessions.read(header(cookie))?.bearer).toEqual({ keyName: "preview", environment: "preview" });
});

test("a cookie that was changed, or made for another purpose, is no session", () => {
  const { sessions } = build(keysOf(key("one", "a")));
  const { cookie, session } = sessions.begin({ keyName: "one", environment: null });
  const [began = "", ends = "", id = "", mac = ""] = cookie.split(".");
  const others = [
    `${began}.${Number(ends) + 1}.${id}.${mac}`,
    `${began}.${ends}.${id.replace(/./, (digit) => (digit === "0" ? "1" : "0"))}.${mac}`,
    `${began}.${ends}.${id}.${session.csrf}`,
    `${began}.${ends}.${id}`,
    "",
    "x".repeat(500),
  ];
  for (const other of others) expect([other, sessions.read(header(other))]).toEqual([other, undefined]);
  expect(sessions.read(undefined)).toBeUndefined();
  // Servers on other ports of the host may have set one of the same name.
  expect(sessions.read(`${SESSION_COOKIE}=foreign; ${SESSION_COOKIE}=${cookie}`)).toEqual(session);
});

test("a session ends after its time, and at its gateway when it is signed out", () => {
  const { sessions, clock } = build(keysOf(key("one", "a")));
  const bearer = { keyName: "one", environment: null };
  const first = sessions.begin(bearer);
  const second = sessions.begin(bearer);
  sessions.end(first.session);
  expect(sessions.read(header(first.cookie))).toBeUndefined();
  expect(sessions.read(header(second.cookie))).toEqual(second.session);
  clock.ms += SESSION_MS - 1;
  expect(sessions.read(header(second.cookie))).toEqual(second.session);
  clock.ms += 1;
  expect(sessions.read(header(second.cookie))).toBeUndefined();
});

test("more sessions signed out than are remembered end all that began before, and none that begins later", () => {
  const { sessions, clock } = build(keysOf(key("one", "a")), { maxEnded: 2 });
  const bearer = { keyName: "one", environment: null };
  const [one, two, three, kept] = [1, 2, 3, 4].map(() => sessions.begin(bearer));
  for (const each of [one, two, three]) if (each) sessions.end(each.session);
  for (const each of [one, two, three, kept]) expect(sessions.read(header(each?.cookie ?? ""))).toBeUndefined();
  clock.ms += 1;
  const later = sessions.begin(bearer);
  expect(sessions.read(header(later.cookie))).toEqual(later.session);
});

test("a link signs in once, for a quarter of an hour, and only at its gateway", () => {
  const keys = keysOf(key("preview", "b", "preview"), key("one", "a"));
  const { sessions, clock } = build(keys);
  const link = sessions.newLink();
  expect(build(keys).sessions.redeem(link)).toBeUndefined();
  expect(sessions.redeem(link)).toEqual({ keyName: "one", environment: null });
  expect(sessions.redeem(link)).toBeUndefined();
  const late = sessions.newLink();
  clock.ms += LINK_MS;
  expect(sessions.redeem(late)).toBeUndefined();
  const old = sessions.newLink();
  for (let count = 0; count < 100; count += 1) sessions.newLink();
  expect(sessions.redeem(old)).toBeUndefined();
});
