// Generates src/generated/connect.{js,d.ts} from proto/connect.proto. With --check nothing is written: the exit code
// says whether the committed code is current.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const pbjs = promisify(createRequire(import.meta.url)("protobufjs-cli/pbjs").main);
const proto = fileURLToPath(new URL("../../../proto/connect.proto", import.meta.url));
const folder = fileURLToPath(new URL("../src/generated/", import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), "holdfast-proto-"));

try {
  // `-r` keeps our root apart from the user's own protobuf code in the same process.
  const flags =
    "-t static-module -w esm --dts -r holdfast --no-service --no-delimited --no-verify --no-typeurl --no-create --no-convert --force-number".split(
      " ",
    );
  await pbjs([...flags, "-o", join(scratch, "connect.js"), proto]);
  const stale = [];
  for (const name of ["connect.js", "connect.d.ts"]) {
    const fresh = readFileSync(join(scratch, name), "utf8");
    if (process.argv.includes("--check")) {
      if (readCommitted(name) !== fresh) stale.push(name);
    } else {
      writeFileSync(join(folder, name), fresh);
    }
  }
  if (stale.length > 0) {
    console.error(`Generated code is not current: ${stale.join(", ")}. Run the package's "gen" script.`);
    process.exitCode = 1;
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

function readCommitted(name) {
  try {
    return readFileSync(join(folder, name), "utf8");
  } catch {
    return undefined;
  }
}
