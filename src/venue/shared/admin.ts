// Prepares the engine for a venue, and looks at its instances.

import { readFileSync } from "node:fs";
import { ConfigError } from "../../config/errors.js";
import type { VenueConfig } from "../../config/types.js";
import { packageFile } from "../../core/package-files.js";
import { silentLog } from "../../core/ports/log.js";
import type { SharedQuery } from "../../core/ports/shared.js";
import { openIdentity } from "../identity/identity.js";
import { Connection, type Engine, errorOf, inTransaction, isUnavailable } from "./connection.js";
import { checkOwner, FORMAT, INSTANCES, isUnprepared, notPrepared, type SeenInstance } from "./instances.js";
import { engineOf } from "./open.js";
import { reasonOf } from "./tick.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** Making tables may wait for locks of instances that run. */
const INIT_MS = 30_000;

/** Creates what is missing, for the venue's DID. @returns its schema @throws ConfigError */
export async function initShared(config: VenueConfig, env: Environment): Promise<string> {
  return withEngine(config, env, async (connection, { engine, did }) => {
    const text = readFileSync(packageFile("schemas/shared.sql"), "utf8");
    await connection.run(
      inTransaction(async (query) => {
        await query(`CREATE SCHEMA IF NOT EXISTS "${engine.schema}"`);
        await query(text);
        await query("INSERT INTO epoch (did, format) VALUES ($1, $2) ON CONFLICT DO NOTHING", [did, FORMAT]);
        const [row] = await query<{ did: string; format: number }>("SELECT did, format FROM epoch");
        checkOwner({ did: row?.did ?? did, format: FORMAT }, did);
        await query("UPDATE epoch SET format = $1 WHERE format < $1", [FORMAT]);
      }),
      INIT_MS,
    );
    return engine.schema;
  });
}

/** The instances of the last day. @throws ConfigError */
export function sharedInstances(config: VenueConfig, env: Environment): Promise<readonly SeenInstance[]> {
  return withEngine(config, env, (connection, { did }) =>
    connection.run(async (query: SharedQuery) => {
      const [row] = await query<{ did: string; format: number; instances: readonly SeenInstance[] }>(
        `SELECT did, format, ${INSTANCES} AS instances FROM epoch`,
      );
      if (row === undefined) throw notPrepared();
      checkOwner(row, did);
      return row.instances;
    }),
  );
}

async function withEngine<Result>(
  config: VenueConfig,
  env: Environment,
  work: (connection: Connection, parts: { readonly engine: Engine; readonly did: string }) => Promise<Result>,
): Promise<Result> {
  const { shared, seed, seedFile } = config;
  if (shared === undefined) throw new ConfigError(["'shared' is missing: this venue is one process"], 78);
  const { did } = openIdentity({ seed, seedFile, did: config.did, log: silentLog });
  const engine = await engineOf(shared, env);
  const connection = new Connection(engine);
  try {
    return await work(connection, { engine, did });
  } catch (thrown) {
    const error = errorOf(thrown);
    if (isUnprepared(error)) throw notPrepared();
    if (error instanceof ConfigError) throw error;
    const status = isUnavailable(error) ? 69 : 78;
    throw new ConfigError([`'shared.postgres.url' leads to no engine that can be used (${reasonOf(error)})`], status);
  } finally {
    connection.close();
  }
}
