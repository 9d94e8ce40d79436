/** Opens and closes the HTTP server, and says in one sentence why a port cannot be used. */
import { createServer, type Server } from "node:http";
import { type ErrorCode, HoldfastError } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import { GATEWAY_LIMITS } from "../config/config.ts";
import { IncomingRequest } from "./incoming-request.ts";

/**
 * Longer than load balancers and clients keep a connection without a request (60 s mostly): who closes it first must not
 * be the one that does not send, or a request that is on its way meanwhile is lost with it. `connection-limit.ts` keeps
 * idle connections from taking the places of others.
 */
const KEEP_ALIVE_MS = 75_000;

/**
 * Connections that the kernel completes while this process is at something else. With Node's 511 the workers of a large
 * fleet that come back at once wait for their second try; the kernel may allow fewer (`net.core.somaxconn`).
 */
const BACKLOG = 4_096;

const HEALTH_MS = 1_000;
/** What is listened on, and what is called then. */
const ANY_HOST: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

const STARTING: ErrorCode = "GATEWAY_STARTING";

/** A server that listens and answers no request yet. */
export function listen(host: string, port: number, flag: string): Promise<{ server: Server; port: number }> {
  const server = createServer({
    IncomingMessage: IncomingRequest,
    requestTimeout: GATEWAY_LIMITS.httpRequestTimeoutMs,
    headersTimeout: GATEWAY_LIMITS.httpHeadersTimeoutMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // How often the two above are looked at; with Node's 30 s a limit of 10 s is one of 40.
    connectionsCheckingInterval: GATEWAY_LIMITS.httpCheckEveryMs,
    maxHeaderSize: GATEWAY_LIMITS.maxHeaderBytes,
  });
  server.maxHeadersCount = 100;
  server.on("request", ({ url }, response) => {
    response.writeHead(503, { "Content-Type": "application/json", "Retry-After": "1" });
    const none = url?.startsWith("/e/") ? { ids: [] } : {};
    response.end(JSON.stringify({ ...none, error: "The gateway is starting.", code: STARTING, status: 503 }));
  });
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const asked = error.code === "EADDRINUSE" ? isGateway(host, port) : Promise.resolve(false);
      void asked.then((isRunning) => reject(listenError(error, { host, port, flag, isRunning })));
    });
    server.listen({ port, host, backlog: BACKLOG }, () => {
      const address = server.address();
      resolve({ server, port: typeof address === "object" && address ? address.port : port });
    });
  });
}

/** Whether a gateway answers there: one answers at once, and another program perhaps never. */
async function isGateway(host: string, port: number): Promise<boolean> {
  const name = ANY_HOST[host] ?? host;
  try {
    const url = `http://${name.includes(":") ? `[${name}]` : name}:${port}/health`;
    const answer: unknown = await (await fetch(url, { signal: AbortSignal.timeout(HEALTH_MS) })).json();
    if (!isRecord(answer)) return false;
    return answer.code === STARTING || (typeof answer.version === "string" && "database" in answer);
  } catch {
    return false;
  }
}

interface Wanted {
  readonly host: string;
  readonly port: number;
  readonly flag: string;
  /** A gateway has the port. */
  readonly isRunning: boolean;
}

function listenError(error: NodeJS.ErrnoException, { host, port, flag, isRunning }: Wanted): HoldfastError {
  if (error.code === "EADDRINUSE") {
    const what = isRunning
      ? "a Holdfast gateway that runs there already; use that one, stop it,"
      : "another program; stop it,";
    return new HoldfastError(
      "PORT_BUSY",
      `Port ${port} on ${host} is in use by ${what} or choose another port with ${flag} (0 = any free one).`,
      { cause: error },
    );
  }
  const remedy = error.code === undefined ? undefined : REMEDIES[error.code];
  return new HoldfastError(
    error.code === "EMFILE" ? "INTERNAL" : "OPTION_INVALID",
    `The gateway cannot listen on ${host}:${port} (${error.message})${remedy === undefined ? "." : `: ${remedy(flag)}.`}`,
    { cause: error },
  );
}

/** What keeps an address from being listened on, and what to do about it. */
const REMEDIES: Readonly<Record<string, (flag: string) => string>> = {
  EACCES: (flag) => `this user may not listen on that port; choose one from 1024 on with ${flag}`,
  EADDRNOTAVAIL: () => "this machine does not have that address; name one that it has with --host",
  ENOTFOUND: () => "that name has no address; name one that this machine has with --host",
  EMFILE: () => "this process may open no more files; raise the limit (ulimit -n)",
};

export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
