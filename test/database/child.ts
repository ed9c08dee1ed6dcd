import { existsSync } from "node:fs";
import { openShared } from "../../src/database/shared-database.js";
import { openTable } from "./open-table.js";

// Arguments: the folder of the database, how often to open and close it, a file to wait for before the first time.
const [, , folder = "", times = "1", signal = ""] = process.argv;

process.stdout.write("ready\n");
// It never sleeps, so that whoever looks sees when it waits for a lock.
while (!existsSync(signal));
for (let done = 0; done < Number(times); done += 1) {
  const env = openShared(folder, { maxTables: 8, flush: false });
  const table = openTable(env, "openings");
  table.putSync(Buffer.from(`${process.pid} ${done}`), Buffer.from("here"));
  await env.close();
}
