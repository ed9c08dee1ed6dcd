// The operation that unpacks archives.

import type { OpenArchive } from "../../core/call/archive.js";
import { alreadyExists, existsNotDirectory } from "../../core/errors/texts.js";
import type { At, GroupChange } from "../../core/ports/backend.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import type { Operation, PathCall } from "../../core/ports/operation.js";
import { piecesOf } from "../content/pieces.js";
import { placeTree } from "../copying/copy-tree.js";
import { refuseTwinFolders } from "../searching/alike.js";
import { type ExtractPlan, type Hidden, type PlannedEntry, planOf } from "./plan.js";
import { type ArchiveInput, checkOneArchive, sourceOf } from "./source.js";

const MAX_LISTED = 5_000;
/** Models pay for each. */
const MAX_LISTED_MODEL = 50;
/** A change takes some 8 KB of memory until its group is made: of groups with more changes there is one at a time. */
const MANY = 5_000;
const LARGE = "archive:extract";

interface ExtractInput extends ArchiveInput {
  readonly destRoot: string;
  readonly destPath?: string;
  readonly overwrite?: boolean;
}

interface ExtractOutput {
  readonly extracted: number;
  readonly bytes: number;
  readonly destRoot: string;
  readonly files: readonly string[];
  readonly truncated: boolean;
  readonly atomic: boolean;
  readonly hidden?: Hidden;
  readonly group?: string;
}

/** `extract`: unpacks an archive, all of it or nothing. */
export const extract: Operation<ExtractInput, ExtractOutput> = {
  name: "extract",
  on: "places",
  ability: "crud/write",
  also: ["crud/read"],
  changes: true,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  hidden: ["bytes"],
  check: checkOneArchive,
  async run(input, call) {
    const source = sourceOf(input, call);
    const { destRoot, destPath = "", overwrite = true } = input;
    const to = call.at({ root: destRoot, path: destPath, abilities: ["crud/write"], changes: true });
    await refuseTwinFolders(to);
    return source.use(async (archive) => {
      const plan = await planOf(archive, source, to);
      call.scope.extend(plan.extraMs);
      const found = await to.root.backend.stat(to.path, to.access);
      if (found !== undefined && found.type !== "directory") throw existsNotDirectory(to.access.place);
      to.access.beginGroup?.();
      if (found === undefined) {
        const options = { parents: true, overwrite: false, keepsTimes: true };
        await placeTree(to, plan.tree(), options);
      } else {
        const replace = () => replaceAll(plan, archive, { to, overwrite });
        const { scope, turns } = call;
        await (plan.entries.length > MANY ? scope.race(turns.run(LARGE, replace, scope.signal)) : replace());
      }
      return answer(plan, to, {
        isNew: found === undefined,
        most: call.budget === undefined ? MAX_LISTED : MAX_LISTED_MODEL,
      });
    });
  },
  bytes: ({ bytes }) => bytes,
};

/** Changes what is there, in one group. @throws ALREADY_EXISTS */
async function replaceAll(
  { entries }: ExtractPlan,
  archive: OpenArchive,
  { to, overwrite }: { readonly to: PathCall; readonly overwrite: boolean },
): Promise<void> {
  const { backend } = to.root;
  const changes: GroupChange[] = [];
  for (const planned of entries) {
    const { below, isFile, isEmpty } = planned;
    if (!isFile && !isEmpty) continue;
    await to.scope.pause();
    const path = [...to.path.segments, ...below].join("/");
    const request = { root: to.root.name, path, abilities: ["crud/write"], changes: true } as const;
    const one = to.at({ ...request, isExact: true, isInside: true });
    const at = { path: one.path, access: one.access, whole: to };
    if (isFile && !overwrite && (await backend.stat(one.path, one.access)) !== undefined)
      throw alreadyExists(one.access.place, ". Pass overwrite: true, or another destPath");
    changes.push(
      isFile ? writeOf(at, planned, { archive, overwrite }) : { kind: "mkdir", at, options: { parents: true } },
    );
  }
  if (changes.length > 0) await backend.changeAll(changes);
}

function writeOf(
  at: At,
  { entry, mode }: PlannedEntry,
  { archive, overwrite }: { readonly archive: OpenArchive; readonly overwrite: boolean },
): GroupChange {
  if (entry === undefined) throw new TypeError("A file of an archive has an entry");
  const executable = (mode & 0o100) !== 0;
  return {
    kind: "write",
    at,
    body: { load: () => contentOf(archive.open(entry)), length: entry.size },
    options: {
      parents: true,
      modified: entry.modified,
      newMode: mode,
      executable,
      expected: overwrite ? undefined : "nothing",
    },
  };
}

async function* contentOf(file: OpenFile): AsyncGenerator<Buffer> {
  try {
    yield* piecesOf(file);
  } finally {
    file.close();
  }
}

function answer(
  { files, bytes, hidden }: ExtractPlan,
  { root, path, access }: PathCall,
  { isNew, most }: { readonly isNew: boolean; readonly most: number },
): ExtractOutput {
  const group = root.journal === undefined ? undefined : access.origin?.group;
  return {
    ...{ extracted: files.length, bytes, destRoot: root.name },
    files: files.slice(0, most).map(({ below }) => [...path.segments, ...below].join("/")),
    ...{ truncated: files.length > most, atomic: isNew || root.drive !== undefined, ...hidden },
    ...(group === undefined ? {} : { group }),
  };
}
