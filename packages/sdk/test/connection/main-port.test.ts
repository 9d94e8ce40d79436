import { expect, it } from "vitest";
import type { ThreadMessage } from "../../src/connection/shared/messages.ts";
import { createMainPort, TRANSFER_BYTES } from "../../src/connection/thread/main-port.ts";

it("messages of one turn are posted together; large payloads are transferred, small ones copied", () => {
  const posts: { posted: unknown; moved: readonly unknown[] }[] = [];
  let touches = 0;
  const port = createMainPort(
    {
      on: () => undefined as never,
      close: () => {},
      postMessage: (posted: unknown, moved: unknown) => posts.push({ posted, moved: moved as unknown[] }),
    } as never,
    () => {
      touches += 1;
    },
  );
  const request = (bytes: number): Extract<ThreadMessage, { type: "EXECUTION_REQUEST" }> => ({
    type: "EXECUTION_REQUEST",
    requestId: String(bytes),
    request: new Uint8Array(bytes),
    extensions: [],
    doubtNumber: 1,
    asOf: null,
  });
  const [large, small] = [request(TRANSFER_BYTES), request(TRANSFER_BYTES - 1)];
  port.post(large);
  port.post(small);
  expect(posts).toEqual([]);
  expect(touches).toBe(2);
  port.flush();
  port.flush();
  expect(posts).toEqual([{ posted: [large, small], moved: [large.request.buffer] }]);
  port.post(small);
  port.flush();
  expect(posts[1]).toEqual({ posted: small, moved: [] });
});
