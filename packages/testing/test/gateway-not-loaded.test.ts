import { expect, test } from "vitest";
import { gatewayNotLoaded } from "../src/gateway-not-loaded.ts";

const failure = (code: string, message: string): Error => Object.assign(new TypeError(message), { code });

test.each([
  ["MODULE_NOT_FOUND", "Cannot find module '@holdfast/gateway'\nRequire stack:\n- /app/test.js"],
  ["ERR_MODULE_NOT_FOUND", "Cannot find package '@holdfast/gateway' imported from /app/test.js"],
])("a gateway that is not installed (%s): how to install it", (code, message) => {
  const cause = failure(code, message);
  expect(gatewayNotLoaded(cause)).toMatchObject({
    code: "OPTION_MISSING",
    message: expect.stringContaining("npm install --save-dev @holdfast/gateway"),
    cause,
  });
});

test("a gateway that is installed and cannot be loaded: why, and never how to install it", () => {
  const pino = "Cannot find module 'pino'\nRequire stack:\n- /app/node_modules/@holdfast/gateway/dist/index.cjs";
  expect(gatewayNotLoaded(failure("MODULE_NOT_FOUND", pino))).toMatchObject({
    code: "RUNTIME_UNSUPPORTED",
    message: `startTestGateway() could not load the package @holdfast/gateway: ${pino}`,
  });
  const flag = failure(
    "ERR_VM_DYNAMIC_IMPORT_CALLBACK_MISSING_FLAG",
    "A dynamic import callback was invoked without --experimental-vm-modules",
  );
  expect(gatewayNotLoaded(flag)).toMatchObject({
    code: "RUNTIME_UNSUPPORTED",
    message:
      "startTestGateway() could not load the package @holdfast/gateway: A dynamic import callback was invoked without --experimental-vm-modules. The test runner evaluates this code without import(): start it with NODE_OPTIONS=--experimental-vm-modules.",
    cause: flag,
  });
});
