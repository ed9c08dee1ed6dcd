// `drive:import` into a new drive, and into one that exists and has as many other entries: how long it holds the event loop.
import { execFileSync } from "node:child_process";
import { openDrives } from "../drive-stores.mjs";
import { shown } from "../harness.mjs";
import { threadMs } from "../machine.mjs";
import { growthWhile, timed } from "../timing.mjs";
import { pieces } from "./big.mjs";

const EXPORT = new URL("../servers/export-drive.mjs", import.meta.url).pathname;
const MIB = 2 ** 20;

/** In use or not yet collected, without what the store maps into memory, in bytes. */
function memoryNow() {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** The longest turn of the event loop meanwhile, by the clock and by processor time of its thread, which other programs do not lengthen. */
async function heldBy(work) {
  let [last, lastBusy] = [performance.now(), threadMs(process.pid)];
  const most = { held: 0, busy: 0 };
  let isRunning = true;
  const tick = () => {
    const [now, busy] = [performance.now(), threadMs(process.pid)];
    most.held = Math.max(most.held, now - last);
    most.busy = Math.max(most.busy, busy - lastBusy);
    [last, lastBusy] = [now, busy];
    if (isRunning) setImmediate(tick);
  };
  setImmediate(tick);
  const ms = await timed(work);
  isRunning = false;
  return { ms, ...most };
}

export async function measureImports({ quick, row }, { store }) {
  const entries = quick ? 10_000 : 100_000;
  const drives = openDrives(store);
  for (const [what, side] of [
    ["a new drive", "a"],
    ["a drive that exists", "b"],
  ]) {
    const bytes = execFileSync(process.execPath, [EXPORT, `${entries}`, side], { maxBuffer: 2 ** 30 });
    const importAll = () => drives.owner.importDrive([pieces(bytes)], { drive: "import" });
    const { result, growth } = await growthWhile(memoryNow, () => heldBy(importAll), 20);
    row({ what: `import ${shown(entries)} entries into ${what}`, value: result.ms });
    row({ what: "… longest hold of the event loop", value: result.held, most: 50 });
    row({ what: "… most processor time of its thread in one turn", value: result.busy, most: 50 });
    row({ what: "… more memory meanwhile", value: growth / MIB, unit: "MiB" });
  }
  await drives.close();
}
