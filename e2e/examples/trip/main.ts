/** Connects the app. Its functions are in a module of their own, which tests import without a gateway. */
import { app, trip } from "./trip.ts";

await app.connect({ functions: [trip] });
