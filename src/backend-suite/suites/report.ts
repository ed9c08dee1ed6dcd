// Every committed change is asked about and reported exactly once, and nothing else is.

import { adapterError } from "../../core/errors/errors.js";
import type { Access, At, Backend, PlannedChange } from "../../core/ports/backend.js";
import type { EntryChange } from "../../core/ports/changes/change.js";
import { parsePath } from "../../path/grammar.js";
import { SUITE_ROOT, testAccess } from "../access.js";
import { makeGround } from "../changes.js";
import { bodyOf } from "../files.js";
import { describe, expect } from "../runner.js";
import type { Scenario } from "../scenario.js";

type PlaceAt = (path: string) => At;
type Run = (backend: Backend, at: PlaceAt) => unknown;

const NEW = { parents: true } as const;
const write = (path: string, options: object = {}): Run => {
  return (backend, at) => backend.write(at(path).path, bodyOf("new content"), { ...NEW, ...options }, at(path).access);
};
const append = (path: string, options: object = {}): Run => {
  return (backend, at) => backend.append(at(path).path, bodyOf("+more"), { ...NEW, ...options }, at(path).access);
};
const mkdir = (path: string): Run => {
  return (backend, at) => backend.mkdir(at(path).path, NEW, at(path).access);
};
const remove = (path: string, options: object = {}): Run => {
  return (backend, at) => backend.remove(at(path).path, { recursive: true, ...options }, at(path).access);
};
const move = (from: string, to: string, overwrite = false): Run => {
  return (backend, at) => backend.move(at(from), at(to), { ...NEW, overwrite });
};
const copy =
  (from: string, to: string, overwrite = false): Run =>
  async (backend, at) => {
    const source = await backend.source(at(from).path, { followLast: true }, at(from).access);
    try {
      await backend.place(at(to).path, source, { ...NEW, overwrite }, at(to).access);
    } finally {
      source.close();
    }
  };

const BEFORE = { size: 11 };
const NEW_STATE = { size: 11 };
/** The expected report of a call; `undefined`: none. */
const CASES: readonly (readonly [title: string, run: Run, reported: object | undefined])[] = [
  [
    "write of a new file",
    write("a/b/new"),
    { action: "created", kind: "file", path: "a/b/new", made: ["a", "a/b"], before: null, after: NEW_STATE },
  ],
  [
    "write over a file",
    write("old"),
    { action: "modified", kind: "file", path: "old", before: BEFORE, after: NEW_STATE },
  ],
  ["refused write", write("old", { expected: "nothing" }), undefined],
  [
    "append to a file",
    append("old"),
    { action: "modified", kind: "file", path: "old", before: BEFORE, after: { size: 16 }, addition: { offset: 11 } },
  ],
  [
    "append that makes a file",
    append("a/new"),
    { action: "created", kind: "file", path: "a/new", made: ["a"], before: null, after: { size: 5 } },
  ],
  ["refused append", append("old", { expectedSize: 3 }), undefined],
  [
    "mkdir",
    mkdir("a/b"),
    { action: "created", kind: "directory", path: "a/b", made: ["a"], before: null, after: { size: 0 } },
  ],
  ["mkdir of what is there", mkdir("full"), undefined],
  ["remove of a file", remove("old"), { action: "deleted", kind: "file", path: "old", before: BEFORE, after: null }],
  [
    "remove of a tree",
    remove("full"),
    { action: "deleted", kind: "directory", path: "full", before: { size: 0 }, after: null },
  ],
  ["remove of nothing", remove("none"), undefined],
  ["refused remove", remove("full", { recursive: false }), undefined],
  [
    "move of a file",
    move("old", "a/new"),
    { action: "moved", kind: "file", path: "a/new", from: "old", made: ["a"], before: null, after: BEFORE },
  ],
  [
    "move over a file",
    move("full/inner", "old", true),
    { action: "moved", kind: "file", path: "old", from: "full/inner", before: BEFORE, after: { size: 5 } },
  ],
  [
    "move of a tree",
    move("full", "moved"),
    { action: "moved", kind: "directory", path: "moved", from: "full", before: null, after: { size: 0 } },
  ],
  ["move onto itself", move("old", "old"), undefined],
  ["refused move", move("old", "full"), undefined],
  [
    "copy of a file",
    copy("old", "a/copy"),
    { action: "created", kind: "file", path: "a/copy", made: ["a"], before: null, after: BEFORE },
  ],
  [
    "copy over a file",
    copy("full/inner", "old", true),
    { action: "modified", kind: "file", path: "old", before: BEFORE, after: { size: 5 } },
  ],
  [
    "copy of a tree",
    copy("full", "copied"),
    { action: "created", kind: "directory", path: "copied", files: 1, before: null, after: { size: 0 } },
  ],
];

const NOTHING: EntryChange = { action: "deleted", kind: "other", path: [], before: null, after: null };

const textOf = (segments: readonly string[]): string => segments.join("/");
const comparable = ({ path, from, made, ...rest }: EntryChange) => ({
  ...rest,
  path: textOf(path),
  ...(from === undefined ? {} : { from: textOf(from) }),
  ...(made === undefined ? {} : { made: made.map(textOf) }),
});

export function reportSuite(scenario: Scenario): void {
  describe("reports", () => {
    for (const [title, run, expected] of CASES) {
      scenario(`${expected === undefined ? "nothing" : "one change"}: ${title}`, async ({ backend, files }) => {
        await makeGround(files);
        const changes: EntryChange[] = [];
        const changed = (change: EntryChange): void => {
          changes.push(change);
        };
        const at: PlaceAt = (path) => ({
          path: parsePath(SUITE_ROOT, path),
          access: { ...testAccess({ path }), changed },
        });
        await (async () => run(backend, at))().catch(() => undefined);
        const seen = changes.map(comparable);
        expect(seen).toMatchObject(expected === undefined ? [] : [expected]);
        if (expected !== undefined) expect(seen[0]?.made).toEqual("made" in expected ? expected.made : undefined);
      });

      scenario(`asked about ${expected === undefined ? "nothing" : "once, before it"}: ${title}`, async (stage) => {
        const { backend, files } = stage;
        await makeGround(files);
        const contents = async () => (await files.snapshot()).filter(([, content]) => content !== null);
        const before = await files.snapshot();
        const refusal = adapterError("APPROVAL_REQUIRED", "Refused by the test");
        const asked: PlannedChange[][] = [];
        const approve: Access["approve"] = async (changes) => {
          asked.push([...changes]);
          // Directories on the way may be there, and go again.
          expect(await contents()).toEqual(before.filter(([, content]) => content !== null));
          throw refusal;
        };
        const changes: EntryChange[] = [];
        const at: PlaceAt = (path) => ({
          path: parsePath(SUITE_ROOT, path),
          access: { ...testAccess({ path }), approve, changed: (change) => void changes.push(change) },
        });
        const failure = await (async () => run(backend, at))().catch((error: unknown) => error);
        expect(await files.snapshot()).toEqual(before);
        expect(changes).toEqual([]);
        // The system may report only at the removal that a directory is not empty.
        if (expected === undefined && title === "refused remove") return;
        expect(asked).toHaveLength(expected === undefined ? 0 : 1);
        if (expected === undefined) return;
        expect(failure).toBe(refusal);
        const { action, kind, path } = comparable(asked[0]?.[0]?.change ?? NOTHING);
        expect(expected).toMatchObject({ action, kind, path });
      });
    }
  });
}
