import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { CodeResult } from "../../src/nodes/code-job.ts";
import { MAX_RESULT_CHARS, runCode } from "../../src/sandbox/run-code.ts";

const ctx = { a: 1, list: [1, 2, 3], deep: { b: { c: 1 } }, "odd name": "x" };
/** Enough for all that ends by itself, on a machine that is busy. */
const PATIENT = { timeoutMs: 60_000, memoryMb: 64 };
const run = (code: string, limits: Partial<typeof PATIENT> = {}): Promise<CodeResult> =>
  runCode({ code, ctx, ...PATIENT, ...limits });
const output = async (code: string): Promise<unknown> => (await run(code)).output;
const coded = (code: string, message = ""): object =>
  expect.objectContaining({ code, message: expect.stringContaining(message) });

test.each<[what: string, code: string, output: unknown]>([
  ["a return at the top", "return ctx.a + 1", 2],
  ["await", "return (await Promise.all([1, Promise.resolve(2)])).map((n) => n * 2)", [2, 4]],
  ["a promise as result", "return Promise.resolve({ n: 1 })", { n: 1 }],
  ["no return", "const a = 1;", null],
  ["undefined", "return undefined", null],
  ["a comment at the end", "return 1 // done", 1],
  ["names that are no identifiers", 'return ctx["odd name"]', "x"],
  ["functions, classes, generators", "function* f() { yield 1; yield 2 } return [...f()]", [1, 2]],
  [
    "Map, Set, dates and regular expressions",
    "return [new Set([1, 1]).size, new Date(0).toISOString(), /b+/.exec('abbc')[0]]",
    [1, "1970-01-01T00:00:00.000Z", "bb"],
  ],
  ["what toJSON gives", "return { toJSON: () => ({ x: 1 }) }", { x: 1 }],
  [
    "a result with the key __proto__, as data",
    `return JSON.parse('{"__proto__":{"x":1}}')`,
    JSON.parse('{"__proto__":{"x":1}}'),
  ],
  ["objects that are awaited", "return { then(r) { r({ then(r) { r(7) } }) } }", 7],
])("%s works", async (_what, code, expected) => {
  expect(await output(code)).toEqual(expected);
});

test("the console goes to the log, by level, and has a limit", async () => {
  const { lines } = await run(
    "console.log('a', { b: 1 }); console.warn([2]); console.error('e'); console.debug(undefined)",
  );
  expect(lines).toEqual([
    { level: "info", text: 'a {"b":1}' },
    { level: "warn", text: "[2]" },
    { level: "error", text: "e" },
    { level: "debug", text: "undefined" },
  ]);
  const flood = await run("for (let i = 0; i < 5000; i++) console.log(i); return 1");
  expect(flood.lines).toHaveLength(1_000);
  const long = await run("console.log('x'.repeat(1e6))");
  expect(long.lines[0]?.text).toHaveLength(10_000);
});

test("lines that are cut leave nothing of the rest in memory", async () => {
  const beforeBytes = process.memoryUsage().heapUsed;
  const { lines } = await run("const s = 'x'.repeat(16e6); for (let i = 0; i < 20; i++) console.log(s + i);");
  expect(lines).toHaveLength(20);
  expect(lines.every(({ text }) => text.length === 10_000)).toBe(true);
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  expect(process.memoryUsage().heapUsed - beforeBytes).toBeLessThan(100_000_000);
});

test("all that code writes stays small, since it is stored with the result", async () => {
  const { lines, output } = await run("for (let i = 0; i < 600; i++) console.log('€'.repeat(1e4)); return 1");
  expect(output).toBe(1);
  expect(lines.reduce((sum, { text }) => sum + text.length, 0)).toBe(256 * 1024);
});

test("an error says what it is and where it was thrown", async () => {
  await expect(run("const a = 1;\nthrow new TypeError('no ' + a)")).rejects.toEqual(
    coded("GRAPH_CODE_FAILED", "TypeError: no 1 (line 2)"),
  );
  await expect(run("return (")).rejects.toEqual(coded("GRAPH_CODE_FAILED", "SyntaxError"));
  await expect(run("throw null")).rejects.toEqual(coded("GRAPH_CODE_FAILED", "it threw null"));
  await expect(run("throw { get name() { throw 1 } }")).rejects.toEqual(coded("GRAPH_CODE_FAILED", "cannot be read"));
});

/** Ways to what is outside: each gives whether it got there. */
const HOST = "typeof process + typeof require + typeof fetch + typeof Buffer + typeof setTimeout + typeof WebAssembly";
const NOTHING = "undefined".repeat(6);
test.each<[what: string, code: string, output: unknown]>([
  ["globals", `return ${HOST}`, NOTHING],
  ["the constructor of functions", `return Function("return ${HOST}")()`, NOTHING],
  ["constructor.constructor of an object", `return ({}).constructor.constructor("return ${HOST}")()`, NOTHING],
  ["constructor.constructor of ctx", `return ctx.constructor.constructor("return ${HOST}")()`, NOTHING],
  ["the constructor of console's functions", `return console.log.constructor("return ${HOST}")()`, NOTHING],
  ["the constructor of async functions", `return (async () => {}).constructor("return ${HOST}")()`, NOTHING],
  ["eval", `return (0, eval)("${HOST}")`, NOTHING],
  ["this", `return (function () { return typeof this })()`, "undefined"],
  ["leaving the wrapper", `}); globalThis.out = 1; (async () => { return [globalThis.out, ${HOST}]`, [1, NOTHING]],
  [
    "the caller of a function",
    "function f() { try { return typeof f.caller } catch { return 'refused' } } return f()",
    "refused",
  ],
  ["the stack of an error", "return /node:|file:|node_modules/.test(new Error('x').stack)", false],
  [
    "names of the host on the global object",
    "return Object.getOwnPropertyNames(globalThis).filter((n) => /process|require|module|fetch|socket|worker|std|os|bjson/i.test(n))",
    [],
  ],
  [
    "a getter that is put on the prototype of objects",
    "Object.defineProperty(Object.prototype, 'polluted', { value: 1 }); return {}",
    {},
  ],
  [
    "replaced JSON and Promise",
    "JSON.stringify = () => '1'; Promise.prototype.then = () => 1; return { ok: 1 }",
    { ok: 1 },
  ],
  [
    "a species of its own",
    "class P extends Promise { static get [Symbol.species]() { return null } } return await P.resolve(4)",
    4,
  ],
  ["symbols", "return { [Symbol.toPrimitive]: 1, [Symbol.for('a')]: 2, b: 3 }", { b: 3 }],
])("%s: nothing of the host is there", async (_what, code, expected) => {
  expect(await output(code)).toEqual(expected);
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

test.each<[what: string, code: string, message: string]>([
  ["changing ctx", "ctx.a = 2", "read-only"],
  ["changing what is deep in ctx", "ctx.deep.b.c = 2", "read-only"],
  ["adding to a list of ctx", "ctx.list.push(4)", "TypeError"],
  ["adding to ctx", "ctx.b = 1", "TypeError"],
  ["importing a module", "await import('node:fs')", "could not load"],
  ["a proxy that throws when it is read", "return new Proxy({}, { ownKeys() { throw new Error('trap') } })", "trap"],
  ["a result that refers to itself", "const a = {}; a.a = a; return a", "circular"],
  ["a BigInt", "return 10n", "BigInt"],
  ["a symbol", "return Symbol('x')", "no JSON"],
  ["a function", "return () => 1", "no JSON"],
  ["recursion without end", "const f = () => f() + 1; return f()", "stack overflow"],
  ["a string that is too long", "let s = 'x'; for (;;) s += s", "string too long"],
  ["a result that is too large", `return 'x'.repeat(${MAX_RESULT_CHARS})`, "the limit is"],
])("%s is an error of the code", async (_what, code, message) => {
  await expect(run(code)).rejects.toEqual(coded("GRAPH_CODE_FAILED", message));
});

test.each<[what: string, code: string]>([
  ["a loop", "for (;;) {}"],
  ["a loop that catches", "for (;;) { try { for (;;) {} } catch {} finally { for (;;) {} } }"],
  ["promises without end", "const f = () => Promise.resolve().then(f); await f()"],
  ["awaiting without end", "for (;;) await 1"],
  ["a regular expression that backtracks", "return /^(a+)+$/.test('a'.repeat(40) + 'b')"],
  ["a getter in the result", "return { get a() { for (;;) {} } }"],
  ["toJSON", "return { toJSON() { for (;;) {} } }"],
  ["a getter of what is thrown", "throw { get name() { for (;;) {} } }"],
  ["a comparison that never ends", "return [3, 2, 1].sort(() => { for (;;) {} })"],
  ["a proxy without end", "return new Proxy({}, { ownKeys() { for (;;) {} } })"],
  ["a generator without end", "return [...(function* () { for (;;) yield })()].length"],
  ["calls of what takes long within the engine", "const a = new Array(1e6).fill(1); for (;;) a.join()"],
  ["searches of a long text", "const s = 'a'.repeat(1e6); for (;;) s.includes('b')"],
  ["long texts that are made and left", "for (;;) 'x'.repeat(1e6)"],
  ["long texts that are changed", "const s = 'ä'.repeat(1e6); for (;;) s.toUpperCase().normalize()"],
  ["JSON of much", "const a = new Array(1e5).fill({ a: 1 }); for (;;) JSON.parse(JSON.stringify(a))"],
  [
    "keys of much",
    "const a = Object.fromEntries(new Array(1e5).fill(0).map((_, i) => [i, i])); for (;;) Object.keys(a)",
  ],
  ["typed lists", "const a = new Uint8Array(1e7); for (;;) a.fill(1)"],
  ["what is written to the console without end", "for (;;) console.log('x')"],
])("%s without end is ended when its time is over", async (_what, code) => {
  await expect(run(code, { timeoutMs: 150 })).rejects.toEqual(coded("GRAPH_CODE_BUDGET"));
});

test.each<[what: string, code: string]>([
  ["lists", "const a = []; for (;;) a.push(new Array(1000).fill(1))"],
  [
    "buffers that are caught",
    "const a = []; for (;;) { try { a.push(new Uint8Array(1e6)) } catch { return new Array(1e7).fill(1) } }",
  ],
  ["strings", "const a = []; for (let i = 0; ; i++) a.push('x'.repeat(1e5) + i)"],
  ["long strings", "const a = []; for (;;) a.push('x'.repeat(1e6) + a.length)"],
])("%s that take more memory than there is are ended", async (_what, code) => {
  await expect(run(code, { memoryMb: 8 })).rejects.toEqual(coded("GRAPH_CODE_BUDGET", "8 MB"));
});

/** None of them is code that asks whether its time is over. */
const HUGE = "{ length: 2 ** 53 - 1 }";
test.each([
  ...["includes", "indexOf", "lastIndexOf"].map((name) => `Array.prototype.${name}.call(${HUGE}, 1)`),
  ...["reverse", "join", "toLocaleString", "sort", "toSorted", "flat"].map(
    (name) => `Array.prototype.${name}.call(${HUGE})`,
  ),
  ...["forEach", "map", "filter", "some", "every", "find", "findLast", "flatMap"].map(
    (name) => `Array.prototype.${name}.call(${HUGE}, () => false)`,
  ),
  `Array.prototype.reduce.call(${HUGE}, () => 1, 1)`,
  `Array.prototype.copyWithin.call(${HUGE}, 0, 1)`,
  `Array.prototype.shift.call(${HUGE})`,
  `Array.prototype.includes.call({ n: 0, get length() { return this.n++ ? 2 ** 53 - 1 : 1 } }, 1)`,
  "new Array(2 ** 32 - 1).includes(1)",
  "new Array(2 ** 32 - 1).forEach(() => {})",
  "new Array(2 ** 30).join('x')",
  "[new Array(2 ** 32 - 1)].flat()",
  "[].concat(...new Array(60000).fill(new Array(60000)))",
  "String.raw({ raw: { length: 2 ** 53 - 1 } })",
  "'a'.repeat(3e6).indexOf('a'.repeat(1.5e6) + 'b')",
  "'a'.repeat(3e6).replaceAll('a'.repeat(1.5e6) + 'b', '')",
  "new Array(2 ** 21).fill(1).sort()",
  "Array.prototype[Symbol.iterator].call({ length: 2 ** 53 - 1 }).drop(1e15).next()",
  "new Set(Array.prototype.values.call({ length: 2 ** 53 - 1 }))",
])("return %s: a loop within the engine is refused before it begins", async (code) => {
  await expect(run(`return ${code}`, { timeoutMs: 5_000 })).rejects.toEqual(coded("GRAPH_CODE_FAILED", "too long"));
});

test("what is guarded works as ever on what is not too long", async () => {
  const code = `return [
    [3, 1, 2].sort(), [1, 2].includes(2), [1, [2, [3, [4]]]].flat(), [1, [2, [3]]].flat(Infinity), [[1], [2]].flatMap((x) => x),
    [1, 2, 3].map((x) => x * 2).filter((x) => x > 2).reduce((a, b) => a + b), [1].concat([2], 3), [1, 2].join("-"),
    "a-b-c".split("-"), "abab".replaceAll("b", "c"), "abc".replace(/b/, (x) => x + x), String.raw\`a\${1}\\n\`,
    [..."ab"].reverse(), Array.prototype.map.call("ab", (x) => x + 1), [1, , 3].flat().length, Array.prototype.map.length,
    [].concat.name, Object.keys(Array.prototype), [new Uint8Array([2, 1]).sort()[0]], [5, 4].toSorted(), [...[7].entries()],
    [1, 2, 3].find((x) => x > 1), [1, 2, 3].slice(1), [1, 2].indexOf(2), Array.from({ length: 3 }, (_, i) => i),
  ]`;
  expect(await output(code)).toEqual([
    ...[[1, 2, 3], true, [1, 2, [3, [4]]], [1, 2, 3], [1, 2], 10, [1, 2, 3], "1-2", ["a", "b", "c"], "acac", "abbc"],
    ...["a1\\n", ["b", "a"], ["a1", "b1"], 2, 1, "concat", [], [1], [4, 5], [[0, 7]], 2, [2, 3], 1, [0, 1, 2]],
  ]);
});

test("memory has the limit that the call says, whatever becomes of it", async () => {
  const code = "return new Array(4e6).fill(1).length";
  expect((await run(code)).output).toBe(4e6);
  await expect(run(code, { memoryMb: 8 })).rejects.toEqual(coded("GRAPH_CODE_BUDGET", "more than 8 MB"));
});

test("what one call has taken of memory is not left to the next", async () => {
  const much = "const a = []; for (let i = 0; i < 40; i++) a.push('x'.repeat(1e6)); return a.length";
  for (let round = 0; round < 2; round += 1) {
    expect((await run(much)).output).toBe(40);
    await expect(run(much, { memoryMb: 8 })).rejects.toEqual(coded("GRAPH_CODE_BUDGET", "more than 8 MB"));
  }
});

test("the memory of a call has room for the largest `ctx`, of values of any kind", async () => {
  const sizes = { rows: 70_000, texts: 100_000, numbers: 600_000 };
  const rows = Array.from({ length: sizes.rows }, (_, id) => ({ id, name: `name ${id}`, email: "a@b.c", spent: 1.5 }));
  const texts = Array.from({ length: sizes.texts }, (_, id) => `this is a text of some length, the ${id}`);
  const numbers = Array.from({ length: sizes.numbers }, (_, id) => id);
  for (const [name, value] of Object.entries({ rows, texts, numbers })) {
    const input = { [name]: value };
    expect(JSON.stringify(input).length).toBeGreaterThan(3_500_000);
    const { output } = await runCode({
      code: `return ctx.input.${name}.length`,
      ctx: { input, start: input },
      ...PATIENT,
    });
    expect(output).toBe(value.length);
  }
});

test("small objects that take more memory than there is are ended, too, though no error can be made of it", async () => {
  const code = "let a = null; for (;;) a = { a, b: {} }";
  await expect(run(code, { memoryMb: 8 })).rejects.toEqual(coded("GRAPH_CODE_BUDGET", "8 MB"));
});

test("code that waits for what never comes is ended at once", async () => {
  await expect(run("await new Promise(() => {})")).rejects.toEqual(coded("GRAPH_CODE_BUDGET", "never comes"));
});

test("code that breaks the sandbox has broken one of its own: the next call has another", async () => {
  await expect(run("let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return a")).rejects.toEqual(
    expect.objectContaining({ code: expect.stringMatching(/^GRAPH_CODE_/) }),
  );
  expect(await output("return 1")).toBe(1);
});

test("nothing that one call leaves behind is seen by the next", async () => {
  await run("globalThis.left = 1; Object.prototype.left = 2; Array.prototype.map = () => 3; return 1");
  expect(await output("return [typeof globalThis.left, ({}).left ?? null, [1].map((n) => n + 1)]")).toEqual([
    "undefined",
    null,
    [2],
  ]);
});

test("calls that run side by side do not see each other", async () => {
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, n) => runCode({ code: "await 1; return ctx.n", ctx: { n }, ...PATIENT })),
  );
  expect(results.map((result) => result.output)).toEqual(Array.from({ length: 20 }, (_, n) => n));
});

test.each([
  ['throw { message: "plain" }', "The code failed: plain"],
  ["throw { name: 7, message: 'odd name' }", "The code failed: odd name"],
  ["throw { code: 42 }", 'The code failed: it threw {"code":42}'],
  ["throw new TypeError()", "The code failed: it threw TypeError"],
  ["throw undefined", "The code failed: it threw undefined"],
  ["\nthrow new Error('boom')", "The code failed: Error: boom (line 2)"],
])("%j is told without names that there are not", async (code, message) => {
  await expect(run(code)).rejects.toMatchObject({ code: "GRAPH_CODE_FAILED", message });
});
