import { nextTurn } from "@holdfast/core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { DeliveryOrder } from "../../src/dispatch/queue/delivery-order.ts";

const wait = (n: number) => ({ match: "", runId: `run-${String(n).padStart(3, "0")}`, key: "w" });

/** How often it stops to let others go on, of the moments that there are. */
const moments = fc.array(fc.nat(3), { minLength: 8, maxLength: 8 });
const events = fc.array(fc.record({ wants: fc.uniqueArray(fc.nat(30), { maxLength: 20 }), moments }), {
  minLength: 2,
  maxLength: 6,
});

test("DELIVERY-1: each wait is given the events that want it in their order, however the reads of them are delayed", async () => {
  await fc.assert(
    fc.asyncProperty(events, fc.integer({ min: 1, max: 7 }), async (all, pageSize) => {
      const order = new DeliveryOrder();
      const given = new Map<string, number[]>();
      const deliver = async (event: number): Promise<void> => {
        const { wants, moments: pauses } = all[event] ?? { wants: [], moments: [] };
        let pause = 0;
        const rest = async (): Promise<void> => {
          for (let turns = pauses[pause++ % pauses.length] ?? 0; turns > 0; turns -= 1) await nextTurn();
        };
        const waits = wants.toSorted((a, b) => a - b).map(wait);
        const delivery = order.begin("name");
        for (let at = 0; ; at += pageSize) {
          await rest();
          const page = waits.slice(at, at + pageSize);
          const last = page.at(-1);
          if (!last) break;
          await delivery.reach(last);
          const giving = page.map((one) =>
            order.give(one, async () => {
              await rest();
              given.set(one.runId, [...(given.get(one.runId) ?? []), event]);
            }),
          );
          if (page.length < pageSize) delivery.end();
          else delivery.moveTo(last);
          await Promise.all(giving);
        }
        delivery.end();
      };
      await Promise.all(all.map((_, event) => deliver(event)));
      for (let n = 0; n <= 30; n += 1) {
        const wanted = all.flatMap(({ wants }, event) => (wants.includes(n) ? [event] : []));
        expect(given.get(wait(n).runId) ?? []).toEqual(wanted);
      }
      expect(order.size).toBe(0);
    }),
  );
});

test("DELIVERY-2: an event goes on where an earlier one has come as far, and is not held up by other names", () => {
  const order = new DeliveryOrder();
  const [first, second, other] = [order.begin("a"), order.begin("a"), order.begin("b")];
  expect(other.reach(wait(9))).toBeNull();
  expect(second.reach(wait(1))).not.toBeNull();
  first.moveTo(wait(5));
  expect(second.reach(wait(5))).toBeNull();
  expect(second.reach(wait(6))).not.toBeNull();
});

test("DELIVERY-2: an event without waits of its own lets none overtake those before it", () => {
  const order = new DeliveryOrder();
  const [, second, third] = [order.begin("a"), order.begin("a"), order.begin("a")];
  second.end();
  expect(third.reach(wait(1))).not.toBeNull();
});

test("DELIVERY-3: what failed keeps no other back", async () => {
  const order = new DeliveryOrder();
  const [first, second] = [order.begin("a"), order.begin("a")];
  const reached = second.reach(wait(1));
  first.end();
  await reached;
  const failing = order.give(wait(1), () => Promise.reject(new Error("lost")));
  const next = order.give(wait(1), async () => "given");
  await expect(failing).rejects.toThrow("lost");
  expect(await next).toBe("given");
  second.end();
  expect(order.size).toBe(0);
});
