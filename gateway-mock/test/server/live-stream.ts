/** A client of live streams for tests: keeps what came, and can break off and go on elsewhere. */
import { request } from "node:http";
import { waitFor } from "@holdfast/testing";
import type { Gateway } from "../../src/server.ts";

export interface Received {
  readonly event: string;
  readonly id: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
  readonly data: any;
}

export interface LiveStream {
  readonly status: number;
  readonly messages: readonly Received[];
  readonly text: string;
  /** Of the last message that had one, also of those that have nothing else. */
  readonly lastId: string | null;
  readonly isOver: boolean;
  /** Rows that came, as `run seq`. */
  rows(): string[];
  kinds(): string[];
  until(what: string, holds: (stream: LiveStream) => boolean): Promise<void>;
  cut(): void;
  pause(): void;
  resume(): void;
}

/** Rows among messages, as `run seq`. */
export const rowsOf = (messages: readonly Received[]): string[] =>
  messages.flatMap(({ event, data }) => (event === "facts" ? [`${data.runId} ${data.seq}`] : []));

export function follow(
  gateway: Pick<Gateway, "url">,
  path: string,
  headers: Record<string, string> = {},
): Promise<LiveStream> {
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, gateway.url), { headers, agent: false }, (response) => {
      const messages: Received[] = [];
      let text = "";
      let rest = "";
      let lastId: string | null = headers["last-event-id"] ?? null;
      let isOver = false;
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
        const parts = (rest + chunk).split("\n\n");
        rest = parts.pop() ?? "";
        for (const part of parts) {
          const lines = part.split("\n");
          const field = (name: string): string[] =>
            lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2));
          lastId = field("id")[0] ?? lastId;
          const [event] = field("event");
          const data = field("data").join("\n");
          if (event) messages.push({ event, id: field("id")[0] ?? null, data: JSON.parse(data) });
        }
      });
      const end = (): void => {
        isOver = true;
      };
      response.on("close", end);
      response.on("error", end);
      const stream: LiveStream = {
        status: response.statusCode ?? 0,
        messages,
        get text() {
          return text;
        },
        get lastId() {
          return lastId;
        },
        get isOver() {
          return isOver;
        },
        rows: () => rowsOf(messages),
        kinds: () =>
          messages.flatMap(({ event, data }) =>
            event === "facts" ? data.facts.map((fact: { kind: string }) => fact.kind) : [],
          ),
        until: (what, holds) =>
          waitFor(() => holds(stream) || undefined, {
            what,
            context: () => JSON.stringify(messages).slice(0, 3000),
          }).then(() => {}),
        cut: () => void response.destroy(),
        pause: () => void response.pause(),
        resume: () => void response.resume(),
      };
      resolve(stream);
    });
    sent.on("error", reject);
    sent.end();
  });
}
