/**
 * How large the young generation of the gateway's thread may get. Of what a gateway makes, much lives as long as a batch
 * takes to the disk: where it is collected more often, all of that is copied each time (docs/decisions/0155). Pure.
 */

const GB = 2 ** 30;

/**
 * In megabytes: the three parts of it together, of which objects have one. Undefined: Node's own limit, 48.
 *
 * A limit that the user gives Node (`--max-semi-space-size`) counts instead.
 */
export function youngGenerationMb(memoryBytes: number): number | undefined {
  if (memoryBytes >= 2 * GB) return 192;
  if (memoryBytes >= GB) return 96;
  return undefined;
}
