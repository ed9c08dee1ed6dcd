// The operation that unpacks archives.

import type { OpenArchive } from "../../core/call/archive.js";
import { alreadyExists, existsNotDirectory } from "../../core/errors/texts.js";
import type { GroupChange } from "../../core/ports/backend.js";
import type { Operation, PathCall } from "../../core/ports/operation.js";
import type { ArchiveExtractInput, ArchiveExtractOutput } from "../../schema/types.js";
import { contentOf } from "../content/pieces.js";
import { hiddenOf, placeTree } from "../copying/copy-tree.js";
import { refuseTwinFolders } from "../searching/alike.js";
import { ExtractPlan, modeOf } from "./plan.js";
import { checkOneArchive, sourceOf } from "./source.js";

const MAX_LISTED = 5_000;
/** Models pay for each. */
const MAX_LISTED_MODEL = 50;
/** A change takes some 8 KB of memory until its group is made: of groups with more changes there is one at a time. */
const MANY = 5_000;
const LARGE = "archive:extract";

/** `extract`: unpacks an archive, all of it or nothing. */
export const extract: Operation<ArchiveExtractInput, ArchiveExtractOutput> = {
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
      const plan = await ExtractPlan.of(archive, source, to);
      call.scope.extend(plan.extraMs);
      const found = await to.root.backend.stat(to.path, to.access);
      if (found !== undefined && found.type !== "directory") throw existsNotDirectory(to.access.place);
      to.access.beginGroup?.();
      if (found === undefined) {
        await placeTree(to, plan.tree(), { parents: true, overwrite: false, keepsTimes: true });
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
    const { below, file, isEmpty } = planned;
    if (file === undefined && !isEmpty) continue;
    await to.scope.pause();
    const path = [...to.path.segments, ...below].join("/");
    const request = { root: to.root.name, path, abilities: ["crud/write"], changes: true } as const;
    const one = to.at({ ...request, isExact: true, isInside: true });
    const at = { path: one.path, access: one.access, whole: to };
    if (file === undefined) {
      changes.push({ kind: "mkdir", at, options: { parents: true } });
      continue;
    }
    if (!overwrite && (await backend.stat(one.path, one.access)) !== undefined)
      throw alreadyExists(one.access.place, ". Pass overwrite: true, or another destPath");
    const body = { load: () => contentOf(() => archive.open(file)), length: file.size };
    const { modified, isExecutable: executable } = planned;
    const expected = overwrite ? undefined : "nothing";
    const options = { parents: true, modified, newMode: modeOf(planned), executable, expected } as const;
    changes.push({ kind: "write", at, body, options });
  }
  if (changes.length > 0) await backend.changeAll(changes);
}

function answer(
  { files, tally: { bytes }, left }: ExtractPlan,
  { root, path, access }: PathCall,
  { isNew, most }: { readonly isNew: boolean; readonly most: number },
): ArchiveExtractOutput {
  const group = root.journal === undefined ? undefined : access.origin?.group;
  return {
    ...{ extracted: files.length, bytes, destRoot: root.name },
    files: files.slice(0, most).map(({ below }) => [...path.segments, ...below].join("/")),
    ...{ truncated: files.length > most, atomic: isNew || root.drive !== undefined, ...hiddenOf(left) },
    ...(group === undefined ? {} : { group }),
  };
}
