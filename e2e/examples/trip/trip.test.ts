/** Tests of the trip in memory: its services are replaced, three days pass at once. */
import { FunctionTest } from "holdfast/testing";
import { beforeEach, expect, test, vi } from "vitest";
import { post } from "./services.ts";
import { trip } from "./trip.ts";

vi.mock("./services.ts", () => ({ post: vi.fn(async (path: string) => ({ id: path.slice(1) })) }));
beforeEach(() => void vi.mocked(post).mockClear());

const called = () => vi.mocked(post).mock.calls.map(([path]) => path);
const trips = new FunctionTest(trip, {
  event: { name: "trip/wanted", data: { tripId: "t1", cents: 200_000 } },
});

test("a trip that is approved after two days is paid for", async () => {
  const decision = { id: "the decision", handler: () => ({ tripId: "t1", isApproved: true, by: "Ann" }), after: "2d" };
  const run = await trips.run({ steps: [decision] });
  expect(run.output).toEqual({ flight: "flights", hotel: "hotels", payment: "payments" });
  expect(called()).toEqual(["/flights", "/hotels", "/messages", "/payments"]);
});

test("a trip on which no manager decides within three days is undone, the last booking first", async () => {
  const run = await trips.run();
  expect(run.error?.message).toBe("No decision within three days.");
  const undone = ["/hotels/hotels/cancellation", "/flights/flights/cancellation"];
  expect(called()).toEqual(["/flights", "/hotels", "/messages", ...undone, "/messages"]);
});

test("a service that fails once is asked again", async () => {
  vi.mocked(post).mockRejectedValueOnce(new Error("The airline is down."));
  const run = await trips.runUntil("book the flight");
  expect(run.step).toMatchObject({ status: "completed", output: { id: "flights" } });
  expect(called()).toEqual(["/flights", "/flights"]);
});
