/**
 * What runs in the sandbox before the code does, and around it. It keeps its own references to what it needs, so that
 * code which replaces `JSON` or `Promise` deceives only itself. A program of its own: it is evaluated in QuickJS.
 */
import { GUARDS } from "./guards.ts";

export const PRELUDE = `(() => {
  "use strict";
  const { parse, stringify } = JSON;
  const { freeze, getOwnPropertyNames, isExtensible } = Object;
  const AsyncFunction = (async () => {}).constructor;
  const then = Promise.prototype.then;
  const apply = Reflect.apply;
${GUARDS}
  const text = (value) => {
    if (typeof value === "string") return value;
    try {
      const json = stringify(value);
      return json === undefined ? String(value) : json;
    } catch {
      return "[a value that cannot be shown]";
    }
  };
  const describe = (error) => {
    // The engine throws null when there is no memory left for an error.
    if (error === null) return "it threw null, or ran out of memory";
    if (typeof error !== "object") return "it threw " + text(error);
    const { name, message } = error;
    if (typeof message !== "string" || message === "") return "it threw " + (nameOf(name) ?? text(error));
    const at = typeof error.stack === "string" ? /<input>:(\\d+)/.exec(error.stack) : null;
    const line = at === null ? "" : " (line " + (Number(at[1]) - LINES_BEFORE) + ")";
    return (nameOf(name) === undefined ? "" : name + ": ") + message + line;
  };
  const nameOf = (name) => (typeof name === "string" && name !== "" ? name : undefined);
  const LINES_BEFORE = 1;
  const deepFreeze = (root) => {
    const open = [root];
    while (open.length > 0) {
      const value = open.pop();
      if (typeof value !== "object" || value === null || !isExtensible(value)) continue;
      freeze(value);
      for (const name of getOwnPropertyNames(value)) open.push(value[name]);
    }
    return root;
  };
  return (code, ctx, write, timeoutMs) => {
    endsAtMs = now() + timeoutMs;
    const state = { kind: "open", text: "" };
    const console = freeze(
      Object.fromEntries(
        ["debug", "log", "info", "warn", "error"].map((level) => [
          level,
          (...values) => write(level, values.map(text).join(" ")),
        ]),
      ),
    );
    const { names, values } = parse(ctx);
    const seen = deepFreeze(Object.fromEntries(names.map(([name, place]) => [name, values[place]])));
    const end = (kind, value) => {
      state.kind = kind;
      state.text = value;
    };
    const done = (value) => {
      const json = value === undefined ? "null" : stringify(value);
      if (typeof json === "string") end("done", json);
      else end("failed", "its result is no JSON: " + typeof value);
    };
    const failed = (error) => {
      let said = "it threw something that cannot be read";
      try {
        said = describe(error);
      } catch {}
      end("failed", said);
    };
    const run = globalThis.eval(
      "(async (ctx, console) => {\\"use strict\\";\\n" + code + "\\n})",
    );
    apply(then, apply(then, run(seen, console), [done]), [undefined, failed]);
    return state;
  };
})()`;
