// Whether a folder that was just made on Windows is its user's alone: modes say nothing there, its access list does.

import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "../core/io.js";

/** Not found by an environment that somebody else may have set. */
const ICACLS = "C:\\Windows\\System32\\icacls.exe";
const PATIENCE_MS = 5000;
const SAVED = ".access-list";
/** Principals of an entry, in the text form that is the same in every language. */
const ALLOWS = /\((?:A|OA|XA);[^;()]*;[^;()]*;[^;()]*;[^;()]*;([^;()]+)/g;
/** Everyone, authenticated users, users, guests, anonymous and remote ones, those of a domain. */
const OTHERS = /^(?:WD|AU|BU|BG|AN|IU|NU|RD|DU|DG|LG|S-1-1-0|S-1-5-(?:2|4|7|11)|S-1-5-32-54[56]|S-1-5-21-.*-51[34])$/;

/**
 * Looks at the access list of a new, empty folder. Where that fails it is told as a warning of the process.
 * @param icacls for tests
 * @returns whether it lets other users in
 */
export function letsOthersIn(folder: string, icacls = ICACLS): boolean {
  const saved = join(folder, SAVED);
  const options = { timeout: PATIENCE_MS, windowsHide: true, stdio: "ignore" } as const;
  spawnSync(icacls, [folder, "/save", saved, "/q"], options);
  const list = attempt(() => readFileSync(saved, "utf16le"));
  attempt(() => rmSync(saved, { force: true }));
  if (list?.includes("D:") === true) return namesOthers(list);
  process.emitWarning(`Who may read ${folder} could not be found out (${icacls}). See SECURITY.md of venue-files`);
  return false;
}

/** @param list in the security descriptor definition language */
export const namesOthers = (list: string): boolean =>
  [...list.matchAll(ALLOWS)].some(([, who = ""]) => OTHERS.test(who));
