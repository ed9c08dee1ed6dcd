// What the file system alone takes for a new file: with durability none that is most of a write.
import { closeSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { KB, makeText } from "../fixture.mjs";
import { median } from "../measure.mjs";

const FILES = 200;
/** One after the other: a file that was written an instant ago is replaced only when it is on the disk. */
const NAMES = 16;
const TEXT = makeText(KB, 1);

/**
 * @param folder that exists
 * @returns medians in microseconds: of making an empty file, and of putting 1 KB in the place of another file
 */
export function measureFloor(folder) {
  const place = join(folder, "floor");
  mkdirSync(place);
  const [made, placed] = [[], []];
  for (let count = 0; count < FILES; count++) {
    const path = join(place, `staged-${count}`);
    const start = performance.now();
    const fd = openSync(path, "wx");
    made.push(performance.now() - start);
    writeSync(fd, TEXT);
    closeSync(fd);
    const written = performance.now();
    renameSync(path, join(place, `file-${count % NAMES}`));
    placed.push(performance.now() - written);
  }
  rmSync(place, { recursive: true });
  return { make: median(made) * 1000, place: median(placed) * 1000 };
}
