/**
 * A database that goes back to an earlier commit, behind the same address: what a failover to a standby that was behind
 * looks like from outside. A copy is made of it, and takes its place later.
 */
import postgres from "postgres";

export interface EarlierDatabase {
  /** The copy's own address, until it takes the database's place: who is quicker than others writes there. */
  readonly url: string;
  /** From now on the database is what it was when the copy was made. */
  goBack(): Promise<void>;
}

/** Connections to the database are ended by both. */
export async function keepEarlier(url: string): Promise<EarlierDatabase> {
  const name = decodeURIComponent(new URL(url).pathname.slice(1));
  const copy = `${name}_earlier`;
  await onServer(url, async (sql) => {
    await closed(sql, name, () => sql.unsafe(`CREATE DATABASE "${copy}" TEMPLATE "${name}"`));
  });
  const copyUrl = new URL(url);
  copyUrl.pathname = `/${copy}`;
  return {
    url: copyUrl.href,
    async goBack() {
      await onServer(url, async (sql) => {
        await closed(sql, name, async () => {
          await sql.unsafe(`ALTER DATABASE "${name}" RENAME TO "${name}_gone"`);
        });
        await sql.unsafe(`ALTER DATABASE "${copy}" RENAME TO "${name}"`);
        await sql.unsafe(`DROP DATABASE "${name}_gone" WITH (FORCE)`);
      });
    },
  };
}

async function onServer(url: string, work: (sql: postgres.Sql) => Promise<void>): Promise<void> {
  const target = new URL(url);
  target.pathname = "/postgres";
  const sql = postgres(target.href, { max: 1, onnotice: () => {} });
  try {
    await work(sql);
  } finally {
    await sql.end();
  }
}

/** While no one can connect to it. */
async function closed(sql: postgres.Sql, name: string, work: () => Promise<unknown>): Promise<void> {
  await sql.unsafe(`ALTER DATABASE "${name}" ALLOW_CONNECTIONS false`);
  try {
    for (;;) {
      const left = await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${name}`;
      if (left.length > 0) continue;
      // One that was about to connect is in no list yet.
      const isInUse = await work().then(
        () => false,
        (error: { readonly code?: string }) => {
          if (error.code !== "55006") throw error;
          return true;
        },
      );
      if (!isInUse) break;
    }
  } finally {
    // Under either name.
    await sql.unsafe(`ALTER DATABASE "${name}" ALLOW_CONNECTIONS true`).catch(() => {});
  }
}
