import { invalidInput } from "../core/errors/texts.js";
import { etagOf, expectedOf } from "../core/etag.js";
import type { Journal, JournalEntry, JournalQuery } from "../core/ports/changes/journal.js";
import type { Operation, PathCall } from "../core/ports/operation.js";
import { isWithin } from "../path/grammar.js";
import type { RestoreInput, RestoreOutput } from "../schema/types.js";
import { streamOf } from "./history/past-content.js";
import { contentAt } from "./history/version.js";
import { requireHistory } from "./history/visible-entries.js";

const PAGE = 500;
const MAX_PAGES = 20;
const HASH = /^sha256:([0-9a-f]{64})$/;

/** `restore`: writes a former version of a file back, as a new change. */
export const restore: Operation<RestoreInput, RestoreOutput> = {
  name: "restore",
  on: "places",
  ability: "crud/write",
  also: ["crud/read"],
  changes: true,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  check(input) {
    expectedOf(input);
  },
  async run(input, { at }) {
    const abilities = ["crud/read", "crud/write"] as const;
    const call = at({ root: input.root, path: input.path, abilities, changes: true, isPast: true });
    const { root, path, access } = call;
    const past = await contentAt(call, await versionOf(input.to, call), "to");
    const expected = expectedOf(input);
    const options = { parents: true, expected, newMode: past.mode };
    const body = { load: () => streamOf(past) };
    const [effect] = await root.backend.changeAll([{ kind: "write", at: { path, access }, body, options }]);
    const sha256 = effect?.sha256;
    return {
      ...{ path: path.text, restored: true, created: effect?.existed === false, size: past.size },
      ...(sha256 === undefined ? {} : { etag: etagOf(sha256) }),
    };
  },
};

/** @throws INVALID_INPUT if no version of this path has the hash */
async function versionOf(to: string, { root, path }: PathCall): Promise<string> {
  const sha256 = HASH.exec(to)?.[1];
  if (sha256 === undefined) return to.includes(":") ? to : `${to}:after`;
  await requireHistory([{ root }]);
  const journal = await root.journal?.open();
  const found =
    journal === undefined
      ? undefined
      : await findVersion(journal, { path: path.segments, folds: root.backend.foldsCase }, sha256);
  if (found !== undefined) return found;
  throw invalidInput("'to' is the hash of no version of this path in the history", "/to", "an id from file:history");
}

async function findVersion(
  journal: Journal,
  { path, folds }: Required<Pick<JournalQuery, "path" | "folds">>,
  sha256: string,
): Promise<string | undefined> {
  const isIt = (entry: JournalEntry): boolean => entry.path.length === path.length && isWithin(entry.path, path, folds);
  let before: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const query = { path, folds, limit: PAGE, ...(before === undefined ? {} : { before }) };
    const { entries, next } = await journal.query({ ...query, sees: isIt });
    for (const { id, after, before: old } of entries) {
      if (after?.sha256 === sha256) return `${id}:after`;
      if (old?.sha256 === sha256) return `${id}:before`;
    }
    if (next === undefined) return undefined;
    before = next;
  }
  return undefined;
}
