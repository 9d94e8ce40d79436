/** Reads Server-Sent Events from pieces of text, wherever they are cut: apps and commands follow runs so. Pure. */

export interface ServerSentEvent {
  readonly event: string;
  readonly data: string;
}

export class ServerSentReader {
  #rest = "";
  #event = "";
  #data: string[] = [];
  #id: string | null = null;
  #lastId: string | null = null;

  /** Of the last message that came whole, or that had nothing else. */
  get lastId(): string | null {
    return this.#lastId;
  }

  /** The messages that the piece completes. `lastId` is that of each while it is looked at. */
  *read(piece: string): Generator<ServerSentEvent, void> {
    const lines = (this.#rest + piece).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const event = this.#line(line.endsWith("\r") ? line.slice(0, -1) : line);
      if (event) yield event;
    }
  }

  #line(line: string): ServerSentEvent | null {
    if (line === "") return this.#end();
    const at = line.indexOf(":");
    const name = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? "" : line.slice(line[at + 1] === " " ? at + 2 : at + 1);
    if (name === "event") this.#event = value;
    else if (name === "data") this.#data.push(value);
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    return null;
  }

  #end(): ServerSentEvent | null {
    const [event, data] = [this.#event || "message", this.#data];
    this.#lastId = this.#id ?? this.#lastId;
    this.#event = "";
    this.#data = [];
    return data.length === 0 ? null : { event, data: data.join("\n") };
  }
}
