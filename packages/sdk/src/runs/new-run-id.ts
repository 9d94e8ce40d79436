/** Ids for runs that a client asks for, so that a call which is tried again makes one run. */
import type { SendPorts } from "../events/send-http.ts";

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const TIME_CHARS = 10;
const RANDOM_CHARS = 16;

/** A ULID: the time, then chance. Here, since the client that only sends is to stay small. */
export function newRunId({ clock, random }: Pick<SendPorts, "clock" | "random">): string {
  let rest = clock.nowMs();
  let time = "";
  for (let n = 0; n < TIME_CHARS; n += 1) {
    time = ALPHABET.charAt(rest % ALPHABET.length) + time;
    rest = Math.floor(rest / ALPHABET.length);
  }
  const tail = Array.from({ length: RANDOM_CHARS }, () => ALPHABET.charAt(Math.floor(random() * ALPHABET.length)));
  return time + tail.join("");
}
