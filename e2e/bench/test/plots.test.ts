import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { documents } from "../docs.mjs";
import { barPlot } from "../plots.mjs";

test("a plot has a bar for each value in proportion, and none for what was not measured", () => {
  const svg = barPlot({
    title: "Runs & <steps>",
    unit: "a second",
    bars: [
      { label: "all", parts: [{ label: "all", value: 1000 }], range: { from: 500, to: 1000 } },
      { label: "half", parts: [{ label: "half", value: 500 }] },
      { label: "unknown", parts: [{ label: "unknown", value: Number.NaN }] },
    ],
  });
  const widths = [...svg.matchAll(/<rect [^>]*width="([\d.]+)" height="18"/g)].map(([, width]) => Number(width));
  expect(widths).toHaveLength(2);
  expect(widths[0]).toBeCloseTo(2 * (widths[1] ?? 0), 0);
  expect(svg).toContain("Runs &amp; &lt;steps&gt;");
  expect(svg).toContain(">1,000</text>");
  expect(svg).toContain("prefers-color-scheme: dark");
  expect(svg).not.toContain("unknown");
  expect(svg.match(/<path/g)).toHaveLength(1);
});

test("parts of a bar lie one after the other, with a legend", () => {
  const parts = [
    { label: "app", value: 10 },
    { label: "gateway", value: 30 },
  ];
  const svg = barPlot({ title: "Cost", unit: "µs", bars: [{ label: "a run", parts }] });
  const rectangles = [...svg.matchAll(/<rect x="([\d.]+)" y="\d+" width="([\d.]+)" height="18"/g)];
  const [[, x = "", width = ""] = [], [, next = ""] = []] = rectangles;
  expect(Number(x) + Number(width)).toBeCloseTo(Number(next), 1);
  expect(svg).toContain(">app</text>");
  expect(svg).toContain(">40</text>");
});

test("figures and plots of docs/performance.md are those of the rows beside them", () => {
  for (const [file, text] of documents()) expect(readFileSync(file, "utf8"), file).toBe(text);
});
