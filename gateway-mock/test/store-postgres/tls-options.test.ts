/** TLS to the database, as its address asks for it: against a server that speaks just enough of the protocol. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createSecureContext, TLSSocket } from "node:tls";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { openDriver } from "../../src/store-postgres/connection/driver.ts";
import { readSettingsBy } from "../../src/store-postgres/connection/session-settings.ts";
import { driverAddress } from "../../src/store-postgres/connection/tls-options.ts";

const file = (name: string): string => fileURLToPath(new URL(`fixtures/tls/${name}`, import.meta.url));
const CA = file("ca.crt");
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

const message = (type: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.write(type, 0, "latin1");
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};
const READY = message("Z", Buffer.from("I"));
const SSL_REQUEST_BYTES = 8;

interface Met {
  readonly port: number;
  /** The first message of each connection. */
  readonly starts: string[];
  /** Whether the client has shown a certificate. */
  readonly shown: boolean[];
}

/** Answers every query with nothing. */
async function serverWith(certificate: string): Promise<Met> {
  const starts: string[] = [];
  const shown: boolean[] = [];
  const serve = (socket: Socket): void => {
    let started = false;
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      if (started && chunk[0] === 0x51) socket.write(Buffer.concat([message("C", Buffer.from("SELECT 0\0")), READY]));
      if (started) return;
      started = true;
      starts.push(chunk.toString("latin1"));
      socket.write(Buffer.concat([message("R", Buffer.alloc(4)), READY]));
    });
  };
  const secureContext = createSecureContext({
    cert: readFileSync(file(certificate)),
    key: readFileSync(file("server.key")),
    ca: readFileSync(CA),
  });
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("error", () => {});
    socket.once("data", (chunk) => {
      if (chunk.length !== SSL_REQUEST_BYTES) return void socket.destroy();
      socket.write("S");
      const secure = new TLSSocket(socket, {
        isServer: true,
        secureContext,
        requestCert: true,
        rejectUnauthorized: false,
      });
      secure.on("secure", () => void shown.push(Object.keys(secure.getPeerCertificate()).length > 0));
      serve(secure);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(async () => {
    for (const socket of open) socket.destroy();
    server.close();
    await once(server, "close");
  });
  return { port: (server.address() as AddressInfo).port, starts, shown };
}

async function asked(url: string): Promise<unknown> {
  const sql = openDriver(url, { max: 1, fetch_types: false, connect_timeout: 5 });
  try {
    return await sql.unsafe("SELECT 1").simple();
  } catch (error) {
    return (error as { code?: unknown }).code ?? error;
  } finally {
    await sql.end({ timeout: 0 });
  }
}

test("sslmode says what is checked of the server's certificate, against the CA of sslrootcert", async () => {
  const named = await serverWith("localhost.crt");
  const other = await serverWith("db.internal.crt");
  const at = ({ port }: Met, query: string): Promise<unknown> => asked(`postgres://u@localhost:${port}/d?${query}`);
  const ca = `sslrootcert=${encodeURIComponent(CA)}`;

  expect(await at(named, `sslmode=verify-full&${ca}`)).toEqual([]);
  expect(await at(other, `sslmode=verify-full&${ca}`)).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
  expect(await at(other, `sslmode=verify-ca&${ca}`)).toEqual([]);
  expect(await at(other, `sslmode=require&${ca}`)).toEqual([]);
  expect(await at(named, "sslmode=require")).toEqual([]);
  for (const mode of ["verify-full", "verify-ca"]) {
    expect(await at(named, `sslmode=${mode}`)).toBe("SELF_SIGNED_CERT_IN_CHAIN");
  }
  expect(await at(other, `sslmode=require&sslrootcert=system`)).toBe("SELF_SIGNED_CERT_IN_CHAIN");
  // The server is told nothing of these options, which it would refuse as settings that it does not have.
  expect([...named.starts, ...other.starts].join()).not.toMatch(/ssl/);
});

test("a client shows the certificate that sslcert and sslkey name", async () => {
  const server = await serverWith("localhost.crt");
  const own = `sslcert=${file("db.internal.crt")}&sslkey=${file("server.key")}`;
  expect(await asked(`postgres://u@localhost:${server.port}/d?sslmode=require&${own}`)).toEqual([]);
  expect(await asked(`postgres://u@localhost:${server.port}/d?sslmode=require`)).toEqual([]);
  expect(server.shown).toEqual([true, false]);
});

test("a CA file that is missing, and a mode that there is not, are refused with their names", async () => {
  await expect(readSettingsBy("postgres://h/d?sslmode=verify-full&sslrootcert=/no/ca.crt")).rejects.toMatchObject({
    code: "OPTION_INVALID",
    message: "sslrootcert in the database URL: /no/ca.crt cannot be read: there is no such file.",
  });
  expect(() => driverAddress("postgres://h/d?sslmode=verify")).toThrow(
    "sslmode=verify in the database URL: must be one of disable, allow, prefer, require, verify-ca, verify-full.",
  );
  expect(() => driverAddress(`postgres://h/d?sslrootcert=${CA}`)).toThrow(
    /without effect without sslmode.*verify-full/,
  );
  expect(() => driverAddress(`postgres://h/d?sslmode=prefer&sslrootcert=${CA}`)).toThrow(/with sslmode=prefer/);
});

test("an address keeps everything else, also with several hosts", () => {
  const plain = "postgres://u:p%20w@a:5432,b:5433/d?target_session_attrs=read-write&sslmode=require";
  expect(driverAddress(plain)).toEqual({ address: plain });
  expect(driverAddress("postgres://h/d")).toEqual({ address: "postgres://h/d" });
  const { address, ssl } = driverAddress(`${plain.replace("require", "verify-ca")}&sslrootcert=${CA}`);
  expect(address).toBe("postgres://u:p%20w@a:5432,b:5433/d?target_session_attrs=read-write");
  expect(ssl).toMatchObject({ ca: readFileSync(CA), checkServerIdentity: expect.any(Function) });
});
