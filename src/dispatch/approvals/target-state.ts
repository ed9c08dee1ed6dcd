// Reads the state of a place before a change is made there.

import { conflict } from "../../core/errors/texts.js";
import { etagOf, type Sha256 } from "../../core/etag.js";
import { identityInVersion, withoutChangeTime } from "../../core/identity.js";
import type { StandingEntry } from "../../core/ports/access.js";
import type { At, CurrentState, Looks } from "../../core/ports/backend.js";
import type { EntryState } from "../../core/ports/changes/change.js";
import type { Effect, EffectState } from "../../core/ports/effect.js";
import { relPath } from "../../path/grammar.js";
import { MAX_TEXT } from "./difference.js";
import { countTree, hashOpen, hashTree } from "./tree-state.js";

/** State of a place. */
export interface TargetState {
  /** Absent: the place is empty. */
  readonly state?: EffectState;
  /** Content of a small file. */
  readonly content?: Buffer | undefined;
  /** Mode of the entry, the hash of what is in a directory, the version of a link: read only where somebody is asked. */
  readonly bound?: () => Promise<string>;
  /** Whether an entry there later is what was looked at. */
  readonly isSame?: (now: StandingEntry) => boolean;
}

/** How an effect names its place: as requested, and behind links. For a place that was looked at. */
export function namesOf({ path, access }: At): Pick<Effect, "path" | "real"> {
  const real = access.realPath?.join("/") ?? path.text;
  return { path: path.text, real: real === path.text ? undefined : real };
}

/** The same for the target of a move. */
export function targetNamesOf(at: At): Pick<Effect, "to" | "toReal"> {
  const { path: to, real: toReal } = namesOf(at);
  return { to, toReal };
}

/**
 * Looks at the real path of a place, and from then on the way there must not change.
 *
 * @param itself a link is looked at, not what it leads to: for what removes, moves or replaces an entry
 * @param before the entry as the backend has found it @throws CONFLICT if it is another one by now
 */
export async function readTarget(
  backend: Looks,
  { path, access }: At,
  { itself, before }: { readonly itself: boolean; readonly before?: EntryState | null },
): Promise<TargetState> {
  const real = access.realPath ?? path.segments;
  access.pin?.(real);
  const at = { path: relPath(real), access };
  const first = await backend.state?.(at.path, access);
  const found = { ...(await lookAt(backend, at, itself)), ...(backend.state && { isSame: sameAs(first) }) };
  if (before?.version === undefined) return found;
  // A second name that keeps it has changed its change time.
  const { version = "" } = (await backend.state?.(at.path, access)) ?? {};
  if (withoutChangeTime(version) === withoutChangeTime(before.version)) return found;
  throw conflict(access.place, { verb: access.verb, expected: "no change meanwhile" });
}

/** A directory may get other entries, and a file other names, by the same call. Earlier steps of it may make directories. */
const sameAs =
  (seen: CurrentState | undefined): NonNullable<TargetState["isSame"]> =>
  (now) => {
    const before = seen?.version;
    if (before === undefined) return now.isDirectory();
    if (now.isDirectory()) return identityInVersion(before) === identityInVersion(now.version);
    // The change time of a file changes with its other names.
    if (now.nlink === 1) return before === now.version;
    return withoutChangeTime(before) === withoutChangeTime(now.version);
  };

async function lookAt(backend: Looks, at: At, itself: boolean): Promise<TargetState> {
  const { path, access } = at;
  const now = itself ? await backend.state?.(path, access) : undefined;
  const link: TargetState = { state: { type: "link" }, bound: async () => now?.version ?? "" };
  if (now?.kind === "link" || now?.kind === "other") return link;
  const stat = await backend.stat(path, access);
  if (stat === undefined) return {};
  if (stat.type === "directory") {
    const bound = async (): Promise<string> => `${now?.mode} ${await hashTree(backend, at)}`;
    return { state: await countTree(backend, at), bound };
  }
  if (stat.type !== "file") return link;
  return { ...(await readFile(backend, at)), bound: async () => `${now?.mode}` };
}

async function readFile(backend: Looks, { path, access }: At): Promise<TargetState> {
  const file = await backend.open(path, access);
  try {
    const kept: Buffer[] = [];
    let length = 0;
    const { sha256, size } = await hashOpen(file, access.scope, (bytes) => {
      length += bytes.length;
      if (length <= MAX_TEXT) kept.push(bytes);
    });
    return { state: fileState(sha256, size), content: size <= MAX_TEXT ? Buffer.concat(kept) : undefined };
  } finally {
    file.close();
  }
}

/** The state of a file. Its whole hash decides: anybody can make two contents with one etag. */
export const fileState = (sha256: Sha256, size: number): EffectState => ({
  type: "file",
  etag: etagOf(sha256),
  sha256,
  size,
});
