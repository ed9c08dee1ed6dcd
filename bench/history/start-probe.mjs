// Opens a root with its journal and makes one change: prints the milliseconds. Arguments: root, state directory.
import { mkdirSync } from "node:fs";
import { createFileAdapter } from "venue-files";

const [, , path, stateDir] = process.argv;
mkdirSync(path, { recursive: true });
const start = performance.now();
const adapter = await createFileAdapter({ roots: { files: { path, journal: "on", durability: "none" } }, stateDir });
await adapter.invoke("file:write", { root: "files", path: "probe.txt", content: String(start) });
await adapter.invoke("file:history", { root: "files", limit: 1 });
console.log(performance.now() - start);
await adapter.close();
