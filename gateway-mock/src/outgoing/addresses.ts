/** Which addresses HTTP calls of steps may reach; private ones only where allowed (docs/decisions/0022). Pure. */
import { BlockList, isIP } from "node:net";

/**
 * Addresses that are not of the public internet: this machine, private networks, link-local ones (among them the
 * metadata services of clouds), and what is reserved.
 */
const inner = new BlockList();
for (const [network, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const) {
  inner.addSubnet(network, prefix, "ipv4");
}
for (const [network, prefix] of [
  // The first 96 bits nothing: this machine, and IPv4 as it was once written in IPv6.
  ["::", 96],
  ["::ffff:0:0:0", 96],
  // Translated to IPv4, by the network's own rules in the second one.
  ["64:ff9b::", 96],
  ["64:ff9b:1::", 48],
  ["100::", 64],
  // Teredo, and whatever else is no host of the internet.
  ["2001::", 23],
  ["2001:db8::", 32],
  // IPv4 inside.
  ["2002::", 16],
  ["3fff::", 20],
  ["5f00::", 16],
  ["fc00::", 7],
  ["fe80::", 10],
  ["fec0::", 10],
  ["ff00::", 8],
] as const) {
  inner.addSubnet(network, prefix, "ipv6");
}

/** Whether an IP address (IPv4 inside IPv6 too) is one that only this machine or its network can reach. */
export function isInnerAddress(address: string): boolean {
  const plain = address.replace(/^\[|\]$/g, "").split("%")[0] ?? "";
  const family = isIP(plain);
  if (family === 0) return false;
  // Node maps ::ffff:a.b.c.d to the rules for IPv4 by itself.
  return inner.check(plain, family === 4 ? "ipv4" : "ipv6");
}
