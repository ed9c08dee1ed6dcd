import { randomBytes } from "node:crypto";
import { openShared } from "../../src/database/shared-database.js";
import { openTable } from "./open-table.js";

// Argument: a folder. Prints how many changes were made, and the code of the first that was not.
const [, , folder = ""] = process.argv;
const codeOf = (error: unknown): unknown => (error instanceof Error ? Reflect.get(error, "code") : error);

let made = 0;
let code: unknown;
try {
  const env = openShared(folder, { maxTables: 4, flush: false });
  try {
    const tables = ["one", "two"].map((name) => openTable(env, name));
    for (; made < 60; made++) {
      env.transactionSync(() => {
        for (const table of tables) table.putSync(randomBytes(16), Buffer.alloc(made % 5 === 0 ? 9_000 : 300));
      });
    }
  } finally {
    await env.close();
  }
} catch (error) {
  code = codeOf(error);
}
console.log(JSON.stringify({ made, code }));
