import { expect, test } from "vitest";
import { readOptions } from "../options.mjs";

const scenarios = [{ name: "one" }, { name: "cores-1x1" }, { name: "cores-2x4" }, { name: "million", onRequest: true }];

test("without arguments the benchmark measures all scenarios but those on request, at the usual size", () => {
  expect(readOptions([], scenarios)).toEqual({
    names: ["one", "cores-1x1", "cores-2x4"],
    against: undefined,
    rounds: undefined,
    size: "usual",
    list: false,
    cpuProf: false,
    docs: false,
    results: undefined,
  });
});

test("--only chooses scenarios by name or by the beginning of their names, in the order of the list", () => {
  expect(readOptions(["--only", "million,cores"], scenarios).names).toEqual(["cores-1x1", "cores-2x4", "million"]);
  expect(readOptions(["--only", "cores-2x4"], scenarios).names).toEqual(["cores-2x4"]);
});

test("the benchmark takes a commit to compare with, rounds and a size", () => {
  const options = readOptions(["--against", "main", "--rounds", "7", "--size", "quick", "--cpu-prof"], scenarios);
  expect(options).toMatchObject({ against: "main", rounds: 7, size: "quick", cpuProf: true });
});

test.each([
  [["--only", "two"], "There is no scenario two; there are one, cores-1x1, cores-2x4, million."],
  [["--only", "co"], "There is no scenario co;"],
  [["--rounds", "0"], '--rounds must be a whole number from 1 on, not "0".'],
  [["--rounds", "many"], "--rounds must be a whole number"],
  [["--size", "huge"], '--size must be tiny, quick, usual, large, not "huge".'],
  [["--against", ""], "--against needs a commit, a branch or a folder."],
  [["--docs", "--against", "main"], "--docs is about this build alone"],
  [["--agianst", "main"], "--agianst"],
])("the benchmark rejects %j with a reason", (args, message) => {
  expect(() => readOptions(args, scenarios)).toThrow(message);
});
