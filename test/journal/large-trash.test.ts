import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import type { TrashFolder, TrashItem } from "../../src/core/ports/changes/journal-writer.js";
import { RootJournal } from "../../src/journal/journal.js";

const DAY_MS = 86_400_000;
const LONG_AGO = 1;

let home = "";
const faults: unknown[] = [];
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-large-trash-")));
});
afterEach(() => {
  rmSync(home, { recursive: true, force: true });
  expect(faults).toEqual([]);
});

/** A trash whose items are all old. It tells which of them are looked at, and which removed. */
function trashOf(names: readonly string[]) {
  const looked: string[][] = [];
  let tell: (names: readonly string[]) => void = () => {};
  const removed = new Promise<readonly string[]>((resolve) => {
    tell = resolve;
  });
  const bin: Partial<TrashFolder> = {
    list(prefix, isWanted = () => true) {
      const found = names.filter((name) => name.startsWith(prefix) && isWanted(name));
      looked.push(found);
      return found.map((name): TrashItem => ({ name, kind: "file", size: 1, changed: LONG_AGO }));
    },
    remove: (gone) => tell(gone),
  };
  return { bin: { folder: ["trash"], ...bin } as TrashFolder, looked, removed };
}

const open = (bin: TrashFolder): RootJournal =>
  new RootJournal({
    ...{ root: "r", folder: home, mode: "on", trash: "auto", bin, nowMs: () => Date.now() },
    quota: { bytes: 1000, entries: 1000, days: 30 },
    onFault: (error) => void faults.push(error),
    inBackground: (work) => void work.catch((error: unknown) => faults.push(error)),
  });

test("a start looks at nothing in the trash but what no entry knows", async () => {
  const first = open(trashOf([]).bin);
  const time = Date.now() - DAY_MS;
  const ids = Array.from({ length: 5 }, () => first.newId());
  const origin = { root: "r", scheme: "file", op: "delete", actor: "operator", via: "p", surface: "library" } as const;
  const state = { size: 1, modified: time };
  for (const id of ids) {
    const change = { action: "deleted", kind: "file", path: [id], before: state, after: null } as const;
    first.add({ ...origin, ...change, id, time }, { in: "trash", size: 1 });
  }
  const [known, unknown] = [ids.map((id) => first.trashName(id)), first.trashName("left")];
  await first.close();
  const { bin, looked, removed } = trashOf([...known, unknown]);
  const second = open(bin);
  expect(await removed).toEqual([unknown]);
  expect(looked).toEqual([[unknown]]);
  await second.close();
});
