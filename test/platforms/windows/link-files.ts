// The files that stand for links under Wine.
import fs from "node:fs";

const MARK = "!<link of the tests>";
const MAX_BYTES = 512;

/** Makes a link; its text gets the separators of Windows, as Windows stores it. */
export function makeLink(target: string, path: string, { writeFileSync }: Pick<typeof fs, "writeFileSync"> = fs): void {
  writeFileSync(path, MARK + target.replaceAll("/", "\\"), { flag: "wx" });
}

/** The text of a link; `undefined` for everything else. */
export function markedTarget(path: string, { lstatSync, readFileSync }: typeof fs): string | undefined {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined || !found.isFile() || found.size > MAX_BYTES || found.size <= MARK.length) return undefined;
    const text = readFileSync(path, "utf8");
    return text.startsWith(MARK) ? text.slice(MARK.length) : undefined;
  } catch {
    return undefined;
  }
}
