// Notes which directory a journal is of, so that one that was moved is known again: its journal lies by its path.

import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { attempt } from "../core/io.js";

/** In the folder of a journal: identity and path of the directory, a line each. */
const PLACE = "place";

/** Notes the directory of a journal. Never fails. */
export function notePlace(folder: string, realPath: string): void {
  const text = `${identityOf(realPath) ?? ""}\n${realPath}`;
  const file = join(folder, PLACE);
  if (attempt(() => readFileSync(file, "utf8")) === text) return;
  attempt(() => writeFileSync(file, text, { mode: 0o600 }));
}

/** Whether the directory had another path before, and so another journal. Never fails. */
export function hasOtherPlace(folder: string, realPath: string): boolean {
  const identity = identityOf(realPath);
  const journals = dirname(folder);
  const others = (attempt(() => readdirSync(journals)) ?? []).filter((name) => name !== basename(folder));
  return others.some((name) => {
    const [known, ...path] = attempt(() => readFileSync(join(journals, name, PLACE), "utf8"))?.split("\n") ?? [];
    return identity !== undefined && known === identity && identityOf(path.join("\n")) !== identity;
  });
}

/** An inode number is used again, but not with the same time of birth. */
function identityOf(path: string): string | undefined {
  const stat = attempt(() => statSync(path, { bigint: true }));
  return stat && `${stat.dev}:${stat.ino}:${stat.birthtimeNs}`;
}
