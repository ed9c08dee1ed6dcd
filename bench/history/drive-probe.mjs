// Opens a drive with its log and makes one change: prints the milliseconds. Argument: the folder of the store.
import { assembleAdapter } from "../../dist/adapter/adapter.js";
import { parseFileConfig } from "../../dist/config/load.js";
import { CALLER, DRIVE, openDrives } from "./drive-store.mjs";

const [, , path] = process.argv;
const start = performance.now();
const drives = await openDrives(path);
const config = parseFileConfig({ roots: { d: { dlfs: DRIVE } } }, { baseDir: "/" });
const adapter = await assembleAdapter(config, { drives, discloseHostPaths: false });
await adapter.invoke("file:write", { root: "d", path: "probe.txt", content: String(start) }, CALLER);
await adapter.invoke("file:history", { root: "d", limit: 1 }, CALLER);
console.log(performance.now() - start);
await adapter.close();
await drives.close();
