// Generates src/generated/connect.ts from proto/connect.proto: for each message a type, a function that writes it and one
// that reads it, on the primitives of src/codec-writer.ts and src/codec-reader.ts. With --check nothing is written: the
// exit code says whether the committed code is current.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import protobuf from "protobufjs";

const proto = fileURLToPath(new URL("../../../proto/connect.proto", import.meta.url));
const target = fileURLToPath(new URL("../src/generated/connect.ts", import.meta.url));

/**
 * How scalars are read and written: the methods' name, the type, what is not sent because it means the same as nothing, and
 * the wire type.
 */
const SCALARS = {
  string: { method: "string", type: "string", zero: '""', wire: 2 },
  bytes: { method: "bytes", type: "Uint8Array", zero: "NO_BYTES", wire: 2 },
  bool: { method: "bool", type: "boolean", zero: "false", wire: 0 },
  int32: { method: "int32", type: "number", zero: "0", wire: 0 },
  uint32: { method: "uint32", type: "number", zero: "0", wire: 0 },
  int64: { method: "int64", type: "number", zero: "0", wire: 0 },
};

const VARINT = 0;
const LENGTH_DELIMITED = 2;

const { root } = protobuf.parse(readFileSync(proto, "utf8"), { keepCase: false });
root.resolveAll();
const namespace = root.lookup("connect.v1");
if (!(namespace instanceof protobuf.Namespace)) throw new Error("connect.proto has no package connect.v1.");
const members = namespace.nestedArray;
const enums = members.filter((member) => member instanceof protobuf.Enum);
const messages = members.filter((member) => member instanceof protobuf.Type);

/** @param {protobuf.Field} field */
function describeField(field) {
  const { name, id, repeated, resolvedType } = field;
  if (resolvedType instanceof protobuf.Type) {
    return { name, id, repeated, message: resolvedType.name, type: resolvedType.name, wire: LENGTH_DELIMITED };
  }
  const scalar = resolvedType === null ? SCALARS[field.type] : { ...SCALARS.int32, type: "number", wire: VARINT };
  if (scalar === undefined) throw new Error(`${field.fullName}: the generator does not know the type ${field.type}.`);
  if (repeated && scalar.wire !== LENGTH_DELIMITED)
    throw new Error(`${field.fullName}: packed fields are not supported.`);
  return { name, id, repeated, ...scalar, optional: field.hasPresence };
}

/** @param {protobuf.Type} message */
const fieldsOf = (message) => message.fieldsArray.map(describeField).sort((one, other) => one.id - other.id);

const tagOf = ({ id, wire }) => id * 8 + wire;

function typeText(name, fields) {
  const lines = fields.map(({ name, type, repeated, message, optional }) => {
    const absent = !repeated && (message !== undefined || optional);
    return `  ${name}${absent ? "?" : ""}: ${repeated ? `readonly ${type}[]` : type}${absent ? " | undefined" : ""};`;
  });
  return `export interface ${name} {\n${lines.join("\n")}\n}\n`;
}

function writerText(name, fields) {
  const lines = fields.map((field) => {
    const { name, message, method, repeated, optional } = field;
    const value = `m.${name}`;
    const write = (each) =>
      message ? `w.message(${tagOf(field)}, write${message}, ${each})` : `w.${method}(${tagOf(field)}, ${each})`;
    if (repeated) return `  for (const each of ${value}) ${write("each")};`;
    if (message || optional) return `  if (${value} !== undefined) ${write(value)};`;
    // What is not there at all, in spite of its type, is not sent either.
    return `  if (${value}${method === "bytes" ? "?.length" : ""}) ${write(value)};`;
  });
  return `export function write${name}(w: CodecWriter, m: Readonly<${name}>): void {\n${lines.join("\n")}\n}\n`;
}

function readerText(name, fields) {
  const initial = fields.flatMap(({ name, repeated, message, optional, zero }) =>
    repeated ? [] : message || optional ? [] : [`${name}: ${zero}`],
  );
  const lists = fields.filter(({ repeated }) => repeated);
  const cases = fields.map((field) => {
    const { name, message, method, repeated } = field;
    const value = message ? `read${message}(r, r.endOfMessage())` : `r.${method}()`;
    const act = repeated ? `${name}.push(${value})` : `m.${name} = ${value}`;
    return `      case ${tagOf(field)}:\n        ${act};\n        break;`;
  });
  return [
    `export function read${name}(r: CodecReader, end = r.end): ${name} {`,
    ...lists.map(({ name, type }) => `  const ${name}: ${type}[] = [];`),
    `  const m: ${name} = { ${[...initial, ...lists.map(({ name }) => name)].join(", ")} };`,
    "  while (r.position < end) {",
    "    const tag = r.tag();",
    "    switch (tag) {",
    ...cases,
    "      default:",
    "        r.skip(tag);",
    "    }",
    "  }",
    "  return r.finish(m, end);",
    "}\n",
  ].join("\n");
}

const enumText = ({ name, values }) =>
  `export const ${name} = { ${Object.entries(values)
    .map(([key, number]) => `${key}: ${number}`)
    .join(", ")} } as const;\n`;

const fresh = `// Generated from proto/connect.proto by scripts/generate.mjs; do not edit.
import { type CodecReader, NO_BYTES } from "../codec-reader.ts";
import type { CodecWriter } from "../codec-writer.ts";

${[
  ...enums.map(enumText),
  ...messages.flatMap((message) => {
    const fields = fieldsOf(message);
    return [typeText(message.name, fields), writerText(message.name, fields), readerText(message.name, fields)];
  }),
].join("\n")}`;

if (!process.argv.includes("--check")) writeFileSync(target, fresh);
else if (readCommitted() !== fresh) {
  console.error('Generated code is not current: connect.ts. Run the package\'s "gen" script.');
  process.exitCode = 1;
}

function readCommitted() {
  try {
    return readFileSync(target, "utf8");
  } catch {
    return undefined;
  }
}
