// Opens a root with its history and makes one change: prints the milliseconds. Arguments: `host`, folder and state directory; or
// `drive` and the folder of its store.
import { mkdirSync } from "node:fs";
import { createFileAdapter } from "venue-files";
import { openAdapter, openEmbedded } from "../drive-stores.mjs";

const [, , kind, path, stateDir] = process.argv;

async function openHost() {
  mkdirSync(path, { recursive: true });
  const adapter = await createFileAdapter({ roots: { r: { path, journal: "on", durability: "none" } }, stateDir });
  return { call: (operation, input) => adapter.invoke(`file:${operation}`, input), close: () => adapter.close() };
}

async function openDrive() {
  const drives = await openEmbedded(path);
  const adapter = await openAdapter(drives, { r: { dlfs: "work" } });
  return {
    call: adapter.call,
    async close() {
      await adapter.close();
      await drives.close();
    },
  };
}

const start = performance.now();
const { call, close } = await (kind === "host" ? openHost() : openDrive());
await call("write", { root: "r", path: "probe.txt", content: `${start}` });
await call("history", { root: "r", limit: 1 });
console.log(performance.now() - start);
await close();
