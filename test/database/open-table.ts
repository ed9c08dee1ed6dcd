import type { SharedDatabase, Table } from "../../src/database/shared-database.js";

/** A table of a database that is open, made if it is missing. */
export const openTable = (env: SharedDatabase, name: string): Table =>
  env.openDB({ encoding: "binary", keyEncoding: "binary", name });
