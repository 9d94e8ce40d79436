/** Why `startTestGateway()` has no gateway: it is not installed, or it is and cannot be loaded. */
import { HoldfastError, messageOf } from "@holdfast/core";

const PACKAGE = "@holdfast/gateway";

/** What Node, and what Jest's CommonJS, say of a module that is not there. */
const NOT_FOUND: ReadonlySet<unknown> = new Set(["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"]);
const MISSING = new RegExp(`^Cannot find (?:module|package) '${PACKAGE}'`);
/** `import()` in code that a test runner evaluates in a context of its own, without the flag. */
const NO_IMPORT: ReadonlySet<unknown> = new Set([
  "ERR_VM_DYNAMIC_IMPORT_CALLBACK_MISSING",
  "ERR_VM_DYNAMIC_IMPORT_CALLBACK_MISSING_FLAG",
]);

/** @param cause what loading it threw */
export function gatewayNotLoaded(cause: unknown): HoldfastError {
  const { code } = (cause ?? {}) as { readonly code?: unknown };
  const message = messageOf(cause);
  // What the gateway itself needs may be missing as well.
  if (NOT_FOUND.has(code) && MISSING.test(message)) {
    const text = `startTestGateway() needs the package ${PACKAGE}: npm install --save-dev ${PACKAGE}`;
    return new HoldfastError("OPTION_MISSING", text, { cause });
  }
  const hint = NO_IMPORT.has(code)
    ? " The test runner evaluates this code without import(): start it with NODE_OPTIONS=--experimental-vm-modules."
    : "";
  const text = `startTestGateway() could not load the package ${PACKAGE}: ${message}`;
  return new HoldfastError("RUNTIME_UNSUPPORTED", `${text}${hint === "" || /[.!?]$/.test(text) ? "" : "."}${hint}`, {
    cause,
  });
}
