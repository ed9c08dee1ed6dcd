// Files of roots in and out of a backup: all that is in a root, whatever the configuration lets callers see or do there.

import { ConfigError } from "../../config/errors.js";
import type { VenueConfig } from "../../config/types.js";
import type { RelPath } from "../../core/call/path.js";
import { CallScope, cancelledBy } from "../../core/call/scope.js";
import { systemClock } from "../../core/clock.js";
import { conflict, escapeText } from "../../core/errors/texts.js";
import { counted } from "../../core/errors/wording.js";
import type { Access, Backend } from "../../core/ports/backend.js";
import { isPersonal, type Root } from "../../core/ports/operation.js";
import type { SourceEntry } from "../../core/ports/tree-source.js";
import { isReachableName, relPath } from "../../path/grammar.js";
import { openRoots, RootsError } from "../../roots/open.js";
import { type CommandContext, EXIT } from "../context.js";
import type { ReadEntry, Source } from "./archive.js";
import { ArchivedTree, type NextEntry } from "./root-tree.js";

const PIECE_BYTES = 1_048_576;
const NO_DEADLINE_MS = 2 ** 31 - 1;
/** Names of what is left out that are said; the others are counted. */
const MAX_NAMED = 100;

/** A root that is open for a backup. */
interface Opened {
  readonly name: string;
  readonly backend: Backend;
  access(path: string, verb: string): Access;
}

/**
 * Runs `work` with roots that nothing is recorded of, and that nothing is hidden or protected in.
 * @throws ConfigError for one that is not there, or has no files of its own
 */
export async function withRoots<T>(
  names: readonly string[],
  config: VenueConfig,
  context: Pick<CommandContext, "untilStopped">,
  work: (roots: readonly Opened[]) => Promise<T>,
): Promise<T> {
  if (names.length === 0) return work([]);
  const stop = new AbortController();
  void context.untilStopped().then(() => stop.abort());
  const opened = open(names, config);
  try {
    const withAccess = ({ name, backend }: Root): Opened => ({
      ...{ name, backend },
      access: (path, verb) => accessTo(name, { path, verb }, stop.signal),
    });
    return await work(opened.roots.flatMap((root) => (isPersonal(root) ? [] : [withAccess(root)])));
  } finally {
    await opened.close();
  }
}

function open(names: readonly string[], config: VenueConfig) {
  const { limits } = config.file;
  const roots = Object.fromEntries(names.map((name) => [name, plainRoot(name, config)]));
  try {
    return openRoots({ roots, limits });
  } catch (error) {
    if (!(error instanceof RootsError)) throw error;
    throw new ConfigError(error.problems, EXIT.config);
  }
}

function plainRoot(name: string, { file }: VenueConfig) {
  const root = Object.hasOwn(file.roots, name) ? file.roots[name] : undefined;
  const refuse = (text: string) => new ConfigError([`Root '${escapeText(name)}' ${text}`], EXIT.config);
  if (root === undefined) throw refuse("is not in this configuration. Name one that is, or add it");
  if (root.kind === "dlfs") throw refuse("is a drive. --drives takes all drives into a backup");
  if (root.kind === "temp") throw refuse("is temporary: its files go when the venue stops, and no backup has them");
  const { owner: _owner, approve: _approve, ...rest } = root;
  return { ...rest, readOnly: false, deny: [], protect: [], journal: "off", trash: "off" } as const;
}

const accessTo = (root: string, { path, verb }: { path: string; verb: string }, signal?: AbortSignal): Access => ({
  ...{ place: { root, path }, verb },
  scope: new CallScope({ clock: systemClock, timeoutMs: NO_DEADLINE_MS, cancellation: cancelledBy(signal) }),
  real() {},
  create() {},
  holds: () => true,
  require() {},
});

/** Everything in the roots, in order. Entries that a backup cannot hold are reported on standard error. */
export async function* rootSources(
  roots: readonly Opened[],
  { stderr }: Pick<CommandContext, "stderr">,
): AsyncGenerator<Source> {
  for (const root of roots) {
    const left: string[] = [];
    yield* filesOf(root, left);
    if (left.length === 0) continue;
    const more = left.length > MAX_NAMED ? `\n  and ${left.length - MAX_NAMED} more` : "";
    stderr.write(
      `Warning: ${counted(left.length, "entry", "entries")} of root '${root.name}' not in the backup:\n  ${left.slice(0, MAX_NAMED).join("\n  ")}${more}\n`,
    );
  }
}

async function* filesOf({ name, backend, access }: Opened, left: string[]): AsyncGenerator<Source> {
  const leave = (below: readonly string[], why: string) => left.push(`${escapeText(below.join("/"))}: ${why}`);
  const leftOut = (below: readonly string[], kind: "symlink" | "other") =>
    leave(below, kind === "symlink" ? "a link" : "neither file nor folder, or on another device");
  const source = await backend.source(relPath([]), { followLast: true, leftOut }, access("", "read"));
  let skipped: readonly string[] | undefined;
  try {
    for (let entry = await source.next(); entry !== undefined; entry = await source.next()) {
      const { below } = entry;
      if (skipped?.every((one, depth) => below[depth] === one) === true) continue;
      skipped = undefined;
      if (entry.raw === undefined && isReachableName(below.at(-1) ?? "", below.length === 1)) {
        yield* sourceOf(entry, name);
        continue;
      }
      const all = entry.type === "directory" ? ", with all below" : "";
      leave(below, `a name that no operation takes (not UTF-8, a backslash or the like)${all}`);
      if (entry.type === "directory") skipped = below;
    }
  } finally {
    source.close();
  }
}

async function* sourceOf(entry: SourceEntry, root: string): AsyncGenerator<Source> {
  const { below, mode = 0o600 } = entry;
  const path = `roots/${root}/${below.join("/")}`;
  if (entry.type === "directory") {
    yield { path: `${path}/`, size: 0, modified: 0, mode, read: async function* () {} };
    return;
  }
  const file = await entry.open();
  const { size, modified } = file;
  try {
    // Data appended meanwhile is left out.
    const read = async function* () {
      for (let at = 0; at < size; ) {
        const bytes = await file.read(at, Math.min(PIECE_BYTES, size - at));
        if (bytes.length === 0)
          throw conflict({ root, path: below.join("/") }, { verb: "read", expected: "unchanged" });
        yield bytes;
        at += bytes.length;
      }
    };
    yield { path, size, modified, mode, read };
  } finally {
    file.close();
  }
}

/** @throws ConfigError unless the roots are empty */
export async function requireEmptyRoots(roots: readonly Opened[]): Promise<void> {
  for (const { name, backend, access } of roots) {
    const { total } = await backend.list(relPath([]), { offset: 0, limit: 1 }, access("", "list"));
    if (total > 0) throw new ConfigError([`Cannot restore: root '${name}' is not empty`], EXIT.config);
  }
}

/**
 * Fills empty roots, then does the rest: all of it, or the roots are empty again. @throws ConfigError where that cannot be
 * @param other takes the entries that are of no root
 */
export async function fillRoots(
  entries: AsyncIterable<ReadEntry>,
  { roots, other }: { readonly roots: readonly Opened[]; other(entry: ReadEntry): Promise<void> },
  rest: () => Promise<void>,
): Promise<void> {
  const placed: (readonly [Opened, RelPath])[] = [];
  const steps = entries[Symbol.asyncIterator]();
  const next: NextEntry = async () => {
    for (let step = await steps.next(); step.done !== true; step = await steps.next()) {
      if (step.value.path.startsWith("roots/")) return step.value;
      await other(step.value);
    }
    return undefined;
  };
  try {
    for (let entry = await next(); entry !== undefined; ) {
      const [, name = "", top = ""] = entry.path.split("/");
      const root = roots.find((one) => one.name === name);
      if (root === undefined) throw new RangeError("An entry of a root that was not opened");
      const [path, tree] = [relPath([top]), new ArchivedTree(entry, next)];
      await root.backend.place(path, tree, { parents: false, overwrite: false }, root.access(top, "copy"));
      placed.push([root, path]);
      entry = tree.top.type === "file" ? await next() : tree.rest;
    }
    await rest();
  } catch (error) {
    const stuck = new Set<string>();
    for (const [{ name, backend }, path] of placed.reverse()) {
      const access = accessTo(name, { path: path.text, verb: "delete" });
      await Promise.resolve(backend.remove(path, { recursive: true, permanent: true }, access)).catch(() =>
        stuck.add(name),
      );
    }
    if (stuck.size === 0) throw error;
    const [why, which] = [error instanceof Error ? error.message : "", [...stuck].join(", ")];
    throw new ConfigError([`Cannot restore: ${why}. Empty before the next try: ${which}`], EXIT.config);
  }
}
