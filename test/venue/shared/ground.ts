// What suites of shared state have in common: an engine, configurations, and instances that are closed after each test.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll } from "@jest/globals";
import { parseConfig } from "../../../src/config/load.js";
import type { VenueConfig, VenueConfigInput } from "../../../src/config/types.js";
import { type Log, silentLog } from "../../../src/core/ports/log.js";
import { initShared } from "../../../src/venue/shared/admin.js";
import { openList } from "../../../src/venue/shared/memory.js";
import { openShared } from "../../../src/venue/shared/open.js";
import type { PostgresShared } from "../../../src/venue/shared/postgres.js";
import { hasPostgres, startPostgres, type TestEngine } from "../../postgres.js";

/** A venue with a state directory of its own. */
export function configOf(more: VenueConfigInput = {}, schema = "venue_files"): VenueConfig {
  const baseDir = mkdtempSync(join(tmpdir(), "shared-"));
  const input = {
    ...{ seed: "ab".repeat(32), stateDir: join(baseDir, "state"), drives: { store: { s3: { bucket: "drives" } } } },
    file: { roots: { tmp: { temp: true, perInstance: true } } },
    storage: { content: "s3", s3: { bucket: "drives" } },
    shared: { postgres: { url: { env: "DB" }, schema } },
  } as const;
  return parseConfig({ ...input, ...more }, { baseDir });
}

export interface InstanceGround {
  readonly engine: TestEngine;
  readonly env: { readonly DB: string };
  /** Makes the tables of a configuration. */
  init(config: VenueConfig): Promise<string>;
  /** @param url of the engine, by another way */
  start(config: VenueConfig, log?: Log, url?: string): Promise<PostgresShared>;
}

/** An engine for a suite. Without PostgreSQL nothing is started. */
export function useInstances(): InstanceGround {
  let engine: TestEngine | undefined;
  const opened: PostgresShared[] = [];
  beforeAll(async () => {
    if (hasPostgres) engine = await startPostgres();
  });
  afterAll(() => engine?.remove());
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close();
  });
  const ground: InstanceGround = {
    get engine() {
      if (engine === undefined) throw new Error("There is no engine");
      return engine;
    },
    get env() {
      return { DB: ground.engine.url };
    },
    init: (config) => initShared(config, ground.env),
    async start(config, log = silentLog, url = ground.env.DB) {
      const env = { DB: url };
      const shared = await openShared(config, config.shared, { env, log });
      opened.push(shared);
      shared.revocations.over(openList(config, { env, log: silentLog }));
      await shared.start();
      return shared;
    },
  };
  return ground;
}
