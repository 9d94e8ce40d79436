/** The gateway of the adapter, a process of its own as it would be elsewhere; it ends when the adapter does, also by kill -9. */
import { startGateway } from "@holdfast/gateway";

const databaseUrl = process.env.DATABASE_URL;
if (databaseUrl === undefined) throw new Error("DATABASE_URL must be set.");
const gateway = await startGateway({ databaseUrl, port: 0, connectPort: 0 });
process.on("disconnect", () => process.exit());
// The adapter decides when: a signal to the group comes here, too.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => {});
process.on("message", async () => {
  await gateway.close();
  process.exit();
});
process.send?.({ url: gateway.url });
