// Uploads in parts that are not done, kept for this tab: after a reload they go on once the file is chosen again.

import { base } from "../../api/base.js";
import { who } from "../../api/catalogue.js";

export interface Unfinished {
  readonly root: string;
  /** Where the file is going to be. */
  readonly path: string;
  /** Where its parts are. */
  readonly part: string;
}

interface Kept extends Unfinished {
  /** DID of the owner; no other caller sees the upload. */
  readonly did: string;
  readonly size: number;
}

const KEY = `venue-files:uploads:${base}`;

function all(): readonly Kept[] {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "[]") as readonly Kept[];
  } catch {
    return [];
  }
}

const keep = (list: readonly Kept[]): void => sessionStorage.setItem(KEY, JSON.stringify(list));

export const keepUnfinished = ({ root, path, part }: Unfinished, size: number): void =>
  keep([...all().filter((one) => one.root !== root || one.part !== part), { root, path, part, size, did: didNow() }]);

export const dropUnfinished = ({ root, part }: Pick<Unfinished, "root" | "part">): void =>
  keep(all().filter((one) => one.root !== root || one.part !== part));

/** Whether the parts of an upload from this tab are gathered there. */
export const isUnfinished = (root: string, path: string | undefined): boolean =>
  all().some((one) => one.root === root && one.part === path);

/** The unfinished uploads of the signed-in caller. */
export const unfinished = (): readonly Kept[] => all().filter(({ did }) => did === didNow());

const didNow = (): string => who.value?.did ?? "";
