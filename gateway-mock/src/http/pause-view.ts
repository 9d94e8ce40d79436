/** How the pause of a function looks in the API. */
import type { FunctionPause } from "@holdfast/store";
import Type from "typebox";
import { isoTime } from "./iso-time.ts";
import { At, Ms, orNull } from "./openapi/schemas.ts";

export const PauseSchema = orNull(Type.Object({ sinceAt: At, sinceMs: Ms, note: orNull(Type.String()) }));

export const pauseView = (pause: FunctionPause | null): object | null =>
  pause && { sinceAt: isoTime(pause.sinceMs), sinceMs: pause.sinceMs, note: pause.note };

/** Of a function: whether, since when and why. */
export const pauseFields = (pause: FunctionPause | null): object => ({
  paused: pause !== null,
  pause: pauseView(pause),
});
