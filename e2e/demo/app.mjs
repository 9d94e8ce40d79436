/**
 * The example app of the demo: a shop that fulfils orders. It knows nothing of the demo around it; it can be killed at
 * any moment, and started again it goes on where it was.
 */
import { Holdfast } from "holdfast";
import { bookCourier, chargeCard, packParcel, renderLabel, reserveItem, sendMail } from "./services.mjs";

const shop = new Holdfast({ id: "shop" });

const fulfilOrder = shop.createFunction(
  { id: "fulfil-order", triggers: { event: "shop/order.placed" }, retries: 4 },
  async ({ event, step }) => {
    const order = /** @type {import("./services.mjs").Order} */ (event.data);
    const payment = await step.run("charge-card", () => chargeCard(order));

    const reserved = await Promise.all(
      order.items.map((item) => step.run(`reserve-${item}`, () => reserveItem(order, item))),
    );

    await step.sleep("cooling-off", "2s");

    // Four seconds of pure computing: nothing else runs on this thread meanwhile.
    const label = await step.run("render-label", () => renderLabel(order));

    const parcel = await step.run("pack-parcel", () => packParcel(order, reserved, label));

    // The courier's service fails now and then; the step is tried again until it works.
    const tracking = await step.run("book-courier", () => bookCourier(order, parcel));

    await step.sendEvent("announce", { name: "shop/order.shipped", data: { order: order.id, tracking } });
    return { payment, tracking };
  },
);

const sendReceipt = shop.createFunction(
  { id: "send-receipt", triggers: { event: "shop/order.shipped" } },
  async ({ event, step }) => step.run("send-mail", () => sendMail(event.data.order, event.data.tracking)),
);

await shop.connect({ functions: [fulfilOrder, sendReceipt] });

// For the demo: a question is answered whenever the main thread has a moment.
process.on("message", ({ id }) => process.send?.({ id, answer: "yes" }));
process.on("disconnect", () => process.exit(0));
process.send?.({ connected: true });
