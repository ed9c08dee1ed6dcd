// Opens the identity and the local token of each folder named on a line, as a venue that starts.
import { join } from "node:path";
import { createInterface } from "node:readline";

const { openIdentity } = await import(new URL("../../dist/venue/identity/identity.js", import.meta.url).href);
const { openLocalToken, openStateDir } = await import(
  new URL("../../dist/venue/start/state/state-dir.js", import.meta.url).href
);

createInterface({ input: process.stdin }).on("line", (folder) => {
  const { did } = openIdentity({ seedFile: join(folder, "seed") });
  const token = openLocalToken(openStateDir(join(folder, "state")));
  process.stdout.write(`${did} ${token}\n`);
});
process.stdout.write("ready\n");
