/** Books a trip: what was booked is undone when a later step fails, or when the trip is not approved. */
import { eventType, Holdfast, NonRetriableError, staticSchema } from "holdfast";
import { post } from "./services.ts";

export const app = new Holdfast({ id: "travel" });

interface Trip {
  readonly tripId: string;
  readonly cents: number;
}
const wanted = eventType("trip/wanted", { schema: staticSchema<Trip>() });
const decided = eventType("trip/decided", {
  schema: staticSchema<{ tripId: string; isApproved: boolean; by: string }>(),
});

export const trip = app.createFunction(
  {
    id: "trip",
    triggers: wanted,
    idempotency: "event.data.tripId",
    onFailure: ({ error, event, step }) =>
      step.run("tell the traveller", () =>
        post("/messages", {
          trip: event.data.event.data.tripId,
          text: error.message,
          undone: error.compensation?.undone,
        }),
      ),
  },
  async ({ event, step, runId }) => {
    const { tripId, cents } = event.data;
    const flight = await step.run("book the flight", () => post("/flights", { tripId }, `${runId} flight`), {
      compensate: ({ id }) => post(`/flights/${id}/cancellation`, {}),
    });
    const hotel = await step.run("book the hotel", () => post("/hotels", { tripId }, `${runId} hotel`), {
      compensate: ({ id }) => post(`/hotels/${id}/cancellation`, {}),
    });
    if (cents > 100_000) {
      await step.run("ask the manager", () =>
        post("/messages", { trip: tripId, text: "Please decide." }, `${runId} ask`),
      );
      const decision = await step.waitForEvent("the decision", {
        event: decided,
        match: "data.tripId",
        since: "run",
        timeout: "3d",
      });
      if (decision === null) throw new NonRetriableError("No decision within three days.");
      if (!decision.data.isApproved) throw new NonRetriableError(`${decision.data.by} does not approve.`);
    }
    const payment = await step.run("pay", () => post("/payments", { tripId, cents }, `${runId} pay`));
    return { flight: flight.id, hotel: hotel.id, payment: payment.id };
  },
);
