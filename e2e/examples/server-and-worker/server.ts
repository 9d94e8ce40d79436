/** The shop's web server. It starts runs and asks for them; it loads neither functions nor the connection. */
import fastify from "fastify";
import { HoldfastClient, HoldfastError } from "holdfast/client";
import type { order } from "./orders.ts";

const holdfast = new HoldfastClient({ id: "shop-web" });
const server = fastify({ logger: true });

server.post<{ Params: { id: string }; Body: { items: string[] } }>("/orders/:id", async (request, reply) => {
  const { id } = request.params;
  // The order's id makes it one run, however often the browser asks.
  const run = await holdfast.invoke<typeof order>("shop-order", {
    data: { orderId: id, items: request.body.items },
    id: `order-${id}`,
  });
  return reply.code(run.isNew ? 202 : 200).send({ run: run.id });
});

server.get<{ Params: { run: string }; Querystring: { wait?: string } }>("/runs/:run", async (request, reply) => {
  const run = holdfast.runs.handle<typeof order>(request.params.run);
  if (request.query.wait === undefined) return { status: await run.status() };
  try {
    return { status: "COMPLETED", ...(await run.result({ timeout: "20s" })) };
  } catch (error) {
    if (HoldfastError.is(error) && error.code === "RUN_RESULT_TIMEOUT") return { status: "RUNNING" };
    request.log.error(error);
    return reply.code(500).send({ status: "FAILED" });
  }
});

server.get("/health", () => ({ ok: true }));

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void server.close());
await server.listen({ port: Number(process.env.PORT ?? 3000), host: "127.0.0.1" });
