/**
 * Runs one block of a page: what the page's given prepares, then the block as a module. It ends once the block has been
 * evaluated, with what the block leaves open.
 *
 *     node doc-block.mjs BLOCK [GIVEN]
 */
import { pathToFileURL } from "node:url";

const [block = "", given] = process.argv.slice(2);
process.on("unhandledRejection", (error) => {
  console.error(error);
  process.exit(1);
});
if (given !== undefined) await (await import(pathToFileURL(given).href)).prepare();
await import(pathToFileURL(block).href);
console.log("The block has been evaluated.");
process.exit(0);
