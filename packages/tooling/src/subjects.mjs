/**
 * Subjects of commits: an area, a colon, and at most 72 characters in all (`sdk: a lost reply is sent again`). Only those
 * are looked at that came after this file did, as far as the history reaches here (a shallow clone has little of it).
 */
import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { fail, isProgram, root } from "./workspace.mjs";

const RULE = "packages/tooling/src/subjects.mjs";
const MAX_LENGTH = 72;
const SUBJECT = /^[a-z][a-z0-9-]*(, [a-z][a-z0-9-]*)*: \S/;
/** Written by git. */
const OWN = /^(Merge |Revert "|fixup! |squash! |amend! )/;

/**
 * What is wrong with a subject; empty when nothing is.
 * @param {string} subject
 */
export function subjectProblem(subject) {
  if (OWN.test(subject)) return "";
  if (!SUBJECT.test(subject)) return "does not begin with its area and a colon, such as `sdk: `";
  return [...subject].length > MAX_LENGTH ? `is longer than ${MAX_LENGTH} characters` : "";
}

/**
 * The subjects of the commits after the one that brought the rule; none where there is no git.
 * @param {string} base
 * @returns {{ id: string, subject: string }[]}
 */
export function subjectsSince(base, rule = RULE) {
  const git = (/** @type {string[]} */ ...args) =>
    execFileSync("git", ["-C", base, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  try {
    // The oldest one, should the file have gone and come back.
    const began = git("log", "--diff-filter=A", "--format=%H", "--", rule).trim().split("\n").at(-1);
    if (began === undefined || began === "") return [];
    const lines = git("log", "--format=%h %s", `${began}..HEAD`).split("\n");
    return lines.filter((line) => line !== "").map(readLine);
  } catch {
    return [];
  }
}

/** @param {string} line */
function readLine(line) {
  const space = line.indexOf(" ");
  return { id: line.slice(0, space), subject: line.slice(space + 1) };
}

if (isProgram(import.meta.url)) {
  const wrong = subjectsSince(resolve(process.argv[2] ?? root)).flatMap(({ id, subject }) => {
    const problem = subjectProblem(subject);
    return problem === "" ? [] : [`${id} "${subject}" ${problem}`];
  });
  if (wrong.length > 0) fail(`Reword these commits (see CONTRIBUTING.md):\n  ${wrong.join("\n  ")}`);
}
