/** The buckets in which every store counts its group commits, for `StoreStats`. */
import { Histogram } from "@holdfast/core";

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const UNITS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

export interface CommitHistograms {
  readonly seconds: Histogram;
  readonly units: Histogram;
}

export function commitHistograms(): CommitHistograms {
  return { seconds: new Histogram(SECONDS), units: new Histogram(UNITS) };
}
