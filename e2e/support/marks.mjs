import { readFileSync } from "node:fs";

/**
 * Finds the line of a file that ends with `// mark: <name>`, as a place without its column.
 * @param {string} path
 * @returns {(name: string) => string} such as "/app/code.mjs:7:"
 */
export function marksOf(path) {
  const lines = readFileSync(path, "utf8").split("\n");
  return (name) => {
    const index = lines.findIndex((line) => line.endsWith(`// mark: ${name}`));
    if (index < 0) throw new Error(`${path} has no mark "${name}".`);
    return `${path}:${index + 1}:`;
  };
}
