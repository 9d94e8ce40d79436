import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import protobuf from "protobufjs";
import { describe, expect, test } from "vitest";
import { runs } from "../../tooling/src/runs.ts";
import { CodecReader } from "../src/codec-reader.ts";
import { CodecWriter } from "../src/codec-writer.ts";
import * as generated from "../src/generated/connect.ts";

// protobufjs is the other party: it reads what we write and writes what we read, by the same file.
const proto = fileURLToPath(new URL("../../../proto/connect.proto", import.meta.url));
const { root } = protobuf.parse(readFileSync(proto, "utf8"));
root.resolveAll();
const messages = root.lookup("connect.v1")?.toJSON().nested ?? {};
const names = Object.keys(messages).filter((name) => "fields" in (messages[name] ?? {}));

type Values = Record<string, unknown>;
const functions = generated as unknown as Record<string, ((...args: unknown[]) => unknown) | undefined>;

/** Short, long, beyond every threshold of the writer, ASCII and not. */
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.constantFrom("", "a".repeat(100), "a".repeat(101), "é".repeat(64), `${"a".repeat(99)}é`, "z".repeat(5_000)),
);
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 20 }),
  fc.constantFrom(127, 128, 4_095, 4_096, 70_000).map((length) => new Uint8Array(length).fill(length % 251)),
);
const scalars: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  string: text,
  bytes,
  bool: fc.boolean(),
  uint32: fc.oneof(fc.nat(300), fc.integer({ min: 0, max: 0xffffffff })),
  int32: fc.oneof(fc.integer({ min: -3, max: 300 }), fc.integer()),
  int64: fc.oneof(fc.integer({ min: -3, max: 300 }), fc.maxSafeInteger()),
};

function valuesOf(type: protobuf.Type): fc.Arbitrary<Values> {
  const fields = type.fieldsArray.map((field): [string, fc.Arbitrary<unknown>] => {
    const { resolvedType, repeated, name } = field;
    const one =
      resolvedType instanceof protobuf.Type
        ? valuesOf(resolvedType)
        : resolvedType === null
          ? (scalars[field.type] ?? fc.constant(undefined))
          : fc.nat(200);
    if (repeated) return [name, fc.array(one, { maxLength: 3 })];
    return [
      name,
      resolvedType instanceof protobuf.Type || field.hasPresence ? fc.option(one, { nil: undefined }) : one,
    ];
  });
  return fc.record(Object.fromEntries(fields));
}

/** As both sides understand it: what is left out is what is not there. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return [...value].join();
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const present = Object.entries(value).filter(([, field]) => field !== undefined && field !== null);
  return Object.fromEntries(present.map(([name, field]) => [name, plain(field)]));
}

describe.each(names)("the message %s", (name) => {
  const type = root.lookupType(`connect.v1.${name}`);
  const write = functions[`write${name}`];
  const read = functions[`read${name}`];
  const written = (value: Values): Uint8Array => {
    const writer = new CodecWriter();
    write?.(writer, value);
    return writer.finish();
  };
  const toPlain = (message: protobuf.Message): unknown =>
    plain(type.toObject(message, { defaults: false, arrays: true, longs: Number }));

  test(`protobufjs reads what we write of ${name}`, () => {
    fc.assert(
      fc.property(valuesOf(type), (value) => {
        const decoded = type.decode(written(value));
        // Fields without presence mean the same whether they are sent or not.
        expect(toPlain(type.fromObject(type.toObject(decoded, { defaults: true, arrays: true })))).toEqual(
          toPlain(type.fromObject(type.toObject(type.fromObject(value), { defaults: true, arrays: true }))),
        );
      }),
      { numRuns: runs(200) },
    );
  });

  test(`we read what protobufjs writes of ${name}, among fields that we do not know`, () => {
    const unknown = fc.constantFrom(
      "",
      "fa3e03010203", // field 1007: three bytes
      "f83eac02", // field 1007: a number
      "f93e0102030405060708", // 64 bits
      "fd3e01020304", // 32 bits
      "fb3e0801fc3e", // a group with a field in it
    );
    fc.assert(
      fc.property(
        valuesOf(type),
        unknown,
        unknown,
        fc.constantFrom("none" as const, "large" as const, "all" as const),
        (value, before, after, lend) => {
          const known = type.encode(type.fromObject(value)).finish();
          const all = Buffer.concat([Buffer.from(before, "hex"), known, Buffer.from(after, "hex")]);
          expect(plain(read?.(new CodecReader(all, lend)))).toEqual(plain(value));
        },
      ),
      { numRuns: runs(200) },
    );
  });

  test(`what is cut off in the middle of ${name} is refused or is a shorter message`, () => {
    fc.assert(
      fc.property(valuesOf(type), fc.double({ min: 0, max: 1, noNaN: true }), (value, share) => {
        const all = written(value);
        const cut = all.subarray(0, Math.floor(all.length * share));
        try {
          read?.(new CodecReader(cut));
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }),
      { numRuns: runs(100) },
    );
  });
});

test("a writer that failed in the middle of a message writes the next one as if nothing had been", () => {
  const writer = new CodecWriter();
  const intervals = { heartbeatInterval: "5s", extendLeaseInterval: "5s", statusInterval: "0s" };
  const broken = { ...intervals, extensions: undefined as unknown as string[] };
  expect(() => generated.writeGatewayConnectionReadyData(writer, broken)).toThrow(TypeError);
  writer.clear();
  generated.writeGatewayCancelData(writer, { requestId: "s", reason: "t" });
  expect(generated.readGatewayCancelData(new CodecReader(writer.finish()))).toEqual({ requestId: "s", reason: "t" });
});

test("a message inside another may not be longer than it", () => {
  // WorkerConnectRequestData: auth_data of 2 bytes, in which a text of 5 begins.
  const bytes = Buffer.from("1a020a05313233343536", "hex");
  expect(() => generated.readWorkerConnectRequestData(new CodecReader(bytes))).toThrow(RangeError);
});

test("groups nest only so deep, and numbers end", () => {
  for (const hostile of ["fb3e".repeat(10_000), "08".padEnd(30, "ff"), "0f", "00"]) {
    expect(() => generated.readGatewayCancelData(new CodecReader(Buffer.from(hostile, "hex")))).toThrow(RangeError);
  }
});

test("large byte fields are lent where that is asked for, and small ones never keep a frame in memory", () => {
  const writer = new CodecWriter();
  const data = { requestId: "r", runId: "", leaseId: "", sequence: 1 };
  const encode = (ops: Uint8Array): Uint8Array => {
    generated.writeWorkerCheckpointData(writer, { ...data, ops });
    return writer.finish();
  };
  const large = encode(new Uint8Array(10_000));
  expect(generated.readWorkerCheckpointData(new CodecReader(large, "large")).ops.buffer).toBe(large.buffer);
  expect(generated.readWorkerCheckpointData(new CodecReader(large)).ops.buffer.byteLength).toBe(10_000);
  const small = encode(new Uint8Array(100));
  expect(generated.readWorkerCheckpointData(new CodecReader(small, "large")).ops.buffer.byteLength).toBe(100);
  expect(generated.readWorkerCheckpointData(new CodecReader(small, "all")).ops.buffer).toBe(small.buffer);
});
