/** The backend of an editor of graphs: drafts, problems, publishing, tests, states. The same process runs the graphs. */
import { BUILT_IN_TYPES, type Graph } from "@holdfast/graph/definition";
import fastify, { type FastifyRequest } from "fastify";
import { HoldfastError } from "holdfast";
import { app, flows } from "./flows.ts";

interface OfGraph {
  Params: { id: string };
  Body: { graph: Graph; revision: number; input?: unknown };
}
interface OfRun {
  Params: { run: string };
}

const server = fastify();

/** The graphs of the customer who asks; a real backend reads that from the session. */
const own = (request: FastifyRequest) => flows.forTenant(String(request.headers["x-customer"] ?? ""));

server.get("/node-types", () => ({ ...BUILT_IN_TYPES, lookUp: { summary: "Asks the product for something." } }));

server.get<OfGraph>("/graphs/:id", (request) => own(request).get(request.params.id));

/** Stores what was drawn. The answer has everything that is wrong with it, each with its node. */
server.put<OfGraph>("/graphs/:id", (request) => {
  const { graph, revision } = request.body;
  return own(request).put({ ...graph, id: request.params.id }, { expectedRevision: revision });
});

server.post<OfGraph>("/graphs/:id/publish", (request) => own(request).publish(request.params.id));

server.post<OfGraph>("/graphs/:id/runs", async (request) => {
  const { id, isNew } = await own(request).execute(request.params.id, request.body.input);
  return { run: id, isNew };
});

/** Tries what was drawn, before it is stored. */
server.post<OfGraph>("/graphs/:id/tests", async (request) => {
  const { id } = await own(request).test(request.body.graph, request.body.input);
  return { run: id };
});

/** What became of each node: the editor colours them by it. */
server.get<OfRun>("/runs/:run", (request) => own(request).status(request.params.run));

/** The person who was asked by a node of type `approval` has decided. */
server.post<OfRun & { Body: { node: string; isApproved: boolean } }>("/runs/:run/decision", async (request) => {
  const { node, isApproved } = request.body;
  return app.sendSignal({ signal: `graph:${request.params.run}:${node}`, data: { approved: isApproved } });
});

/** Refusals carry a code, and what is wrong: `problems` of a graph, the `revision` that another has stored. */
server.setErrorHandler((error, _request, reply) => {
  if (!HoldfastError.is(error)) return reply.send(error);
  const { code, message, status = 502, ...details } = error as HoldfastError & { status?: number };
  return reply.code(status).send({ code, message, ...details });
});

await app.connect({ functions: [flows.runner] });
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void server.close());
await server.listen({ port: Number(process.env.PORT ?? 3000), host: "127.0.0.1" });
console.log(`listening at ${server.listeningOrigin}`);
