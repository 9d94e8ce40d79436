import { afterEach, expect, test, vi } from "vitest";
import { temporaryDataDir } from "../src/home.ts";

afterEach(() => vi.unstubAllEnvs());

test.skipIf(process.platform === "win32")("a directory for temporary files that is missing is named", async () => {
  vi.stubEnv("TMPDIR", "/no/such/folder");
  await expect(temporaryDataDir()).rejects.toMatchObject({
    code: "DATA_DIR_UNUSABLE",
    message: "The directory for temporary files, /no/such/folder, does not exist. Create it, or set TMPDIR to another.",
  });
});
