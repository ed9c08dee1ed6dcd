// The order of suites where Jest does not know yet how long each takes, as in a fresh clone. It goes by the size of files then,
// and some small ones take longest: begun last, they leave the other workers without work.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import Sequencer from "@jest/test-sequencer";

const LONG = [
  "backend/drive/drive",
  "backend/host/group/groups",
  "backend/host/host",
  "cli/backup/backup",
  "cli/drives/drives",
  "docs/pages",
  "drive/engine/together",
  "drive/store/store",
  "drive/store/s3/buckets",
  "jail/races/races",
  "jail/races/processes",
  "jail/walk/deep",
  "journal/damage",
  "ops/undoing/undo-properties",
  "ops/watch",
  "parity/parity",
].map((name) => fileURLToPath(new URL(`${name}.test.ts`, import.meta.url)));

for (const path of LONG)
  if (!existsSync(path)) throw new Error(`test/sequencer.mjs names a suite that is gone: ${path}`);

export default class extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    const isLong = ({ path, duration }) => duration === undefined && LONG.includes(path);
    return [...sorted.filter(isLong), ...sorted.filter((each) => !isLong(each))];
  }
}
