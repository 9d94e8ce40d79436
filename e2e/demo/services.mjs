/**
 * The outside world of the example app: a bank, a warehouse, a printer, a courier. Each keeps a diary of what was asked of it;
 * that is how the demo knows what really happened, and how often. The diary is a file, so it survives a kill -9.
 */
import { createHash } from "node:crypto";
import { appendFileSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const diary = process.env.SHOP_DIARY ?? "shop-diary.jsonl";

/**
 * One call of a service.
 * @template T
 * @param {string} service
 * @param {{ id: string }} order
 * @param {(call: number) => T | Promise<T>} body gets how many-th call this is
 * @returns {Promise<T>}
 */
async function served(service, order, body) {
  const write = (/** @type {string} */ what) => {
    const line = { service, order: order.id, what, pid: process.pid, at: Date.now() };
    appendFileSync(diary, `${JSON.stringify(line)}\n`);
  };
  write("called");
  const call = calls(service, order);
  try {
    const result = await body(call);
    write("done");
    return result;
  } catch (error) {
    write("failed");
    throw error;
  }
}

/**
 * @param {string} service
 * @param {{ id: string }} order
 */
function calls(service, order) {
  const lines = readFileSync(diary, "utf8").split("\n").filter(Boolean);
  const all = lines.map((line) => JSON.parse(line));
  return all.filter((line) => line.service === service && line.order === order.id && line.what === "called").length;
}

/** @typedef {{ id: string, items: string[], amount: number }} Order */

/** @param {Order} order */
export const chargeCard = (order) =>
  served("charge-card", order, async () => {
    await sleep(250);
    return { receipt: `receipt-${order.id}`, amount: order.amount };
  });

/**
 * @param {Order} order
 * @param {string} item
 */
export const reserveItem = (order, item) =>
  served(`reserve-${item}`, order, async () => {
    await sleep(150 + item.length * 60);
    return { item, shelf: `shelf ${item.length}` };
  });

/** @param {Order} order */
export const renderLabel = (order) =>
  served("render-label", order, () => {
    const end = performance.now() + 4000;
    let hash = order.id;
    while (performance.now() < end) hash = createHash("sha256").update(hash).digest("hex");
    return { label: `label-${order.id}` };
  });

/**
 * @param {Order} order
 * @param {readonly unknown[]} reserved
 * @param {{ label: string }} label
 */
export const packParcel = (order, reserved, label) =>
  served("pack-parcel", order, async () => {
    await sleep(1200);
    return { parcel: `parcel-${order.id}`, pieces: reserved.length, ...label };
  });

/**
 * @param {Order} order
 * @param {{ parcel: string }} parcel
 */
export const bookCourier = (order, parcel) =>
  served("book-courier", order, async (call) => {
    await sleep(200);
    if (call <= 2) throw new Error("503: the courier's server is having a day");
    return `track-${parcel.parcel}`;
  });

/**
 * @param {string} order
 * @param {string} tracking
 */
export const sendMail = (order, tracking) =>
  served("send-mail", { id: order }, async () => {
    await sleep(80);
    return `Your order ${order} is on its way: ${tracking}`;
  });
