/**
 * A table for people: rows and columns in the order in which they come, cells where there is something.
 * @param {string} title of the first column
 * @param {readonly { row: string, column: string, text: string }[]} cells
 */
export function table(title, cells) {
  const columns = [...new Set(cells.map(({ column }) => column))];
  const rows = [...new Set(cells.map(({ row }) => row))].map((row) => [
    row,
    ...columns.map((column) => cells.find((cell) => cell.row === row && cell.column === column)?.text ?? "-"),
  ]);
  const all = [[title, ...columns], ...rows];
  const widths = all[0]?.map((_, index) => Math.max(...all.map((row) => row[index]?.length ?? 0))) ?? [];
  const line = (/** @type {readonly string[]} */ row) =>
    `| ${row.map((text, index) => text.padEnd(widths[index] ?? 0)).join(" | ")} |`;
  const rule = `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`;
  return [line(all[0] ?? []), rule, ...rows.map(line)].join("\n");
}
