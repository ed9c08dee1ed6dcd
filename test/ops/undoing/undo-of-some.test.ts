import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { assembleAdapter } from "../../../src/adapter/adapter.js";
import { parseFileConfig } from "../../../src/config/load.js";
import { FileAdapterError } from "../../../src/core/errors/errors.js";
import { silentLog } from "../../../src/core/ports/log.js";
import { createMemoryStore } from "../../../src/drive/store/memory.js";
import type { FileOutputs } from "../../../src/schema/types.js";
import { openDrives } from "../../backend/drive/open-drives.js";
import { anyOperation, inputOf, type OperationStep } from "./random-operations.js";

type Ground = Awaited<ReturnType<typeof openGround>>;

/** An empty root with a journal. */
async function openGround(kind: "host" | "drive") {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-undo-")));
  for (const name of ["r", "state"]) mkdirSync(join(home, name));
  const drives = openDrives({ store: createMemoryStore() });
  const host = { path: join(home, "r"), durability: "none", journal: "on" } as const;
  const config = parseFileConfig({ roots: { r: kind === "drive" ? { dlfs: "work" } : host } }, { baseDir: home });
  const journals = {
    openState: () => join(home, "state"),
    lookAtState: () => join(home, "state"),
    byDefault: true,
    log: silentLog,
  };
  const adapter = await assembleAdapter(config, { journals, drives, discloseHostPaths: false });
  const context = kind === "drive" ? { callerDID: "did:key:z6MkAlice", authority: "owner" } : undefined;
  const invoke = <K extends keyof FileOutputs>(op: K, input: object): Promise<FileOutputs[K]> =>
    adapter.invoke(op as never, { root: "r", ...input } as never, context as never) as never;
  const close = async (): Promise<void> => {
    await adapter.close();
    await drives.close();
    rmSync(home, { recursive: true, force: true });
  };
  return { invoke, close };
}

/** Everything in the root: folders, and files with their content. */
async function seenIn({ invoke }: Ground, path = ""): Promise<string[]> {
  const found: string[] = [];
  for (const { name, type } of (await invoke("file:list", { path })).entries) {
    const at = path === "" ? name : `${path}/${name}`;
    if (type === "directory") found.push(`${at}/`, ...(await seenIn({ invoke } as Ground, at)));
    else found.push(`${at} ${(await invoke("file:read", { path: at })).content}`);
  }
  return found;
}

/** @returns whether it was done; what is refused changes nothing */
const attempt = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    (error: unknown) => {
      if (!(error instanceof FileAdapterError) || error.code === "INTERNAL") throw error;
      return false;
    },
  );

/** Changes of two writers, each content of which says whose it is. @returns the ids of ours, newest first, and all marks of theirs */
async function changed({ invoke }: Ground, steps: readonly (OperationStep & { readonly isOurs: boolean })[]) {
  for (const path of ["a", "d/a", "d/e/a"]) await invoke("file:write", { path, content: "old", parents: true });
  const newest = async () => (await invoke("file:history", { limit: 1 })).entries[0];
  const ours = new Set<string>();
  const theirs: string[] = [];
  let last = await newest();
  for (const [index, step] of steps.entries()) {
    const mark = `${step.isOurs ? "our" : "their"} ${index};`;
    const content = mark + step.content.slice(2);
    const input = {
      ...inputOf("r", { ...step, content }),
      ...(step.what === "edit" ? { newText: `old ${mark}` } : {}),
    };
    if (!(await attempt(invoke(`file:${step.what}` as "file:write", input)))) continue;
    const entry = await newest();
    if (entry !== undefined && entry.id !== last?.id && step.isOurs) ours.add(entry.group ?? entry.id);
    if (!step.isOurs) theirs.push(mark);
    last = entry;
  }
  return { ours: [...ours].reverse(), theirs };
}

// A copy of theirs that we made is ours to undo.
const anyStep = anyOperation
  .filter(({ what }) => what !== "copy")
  .chain((step) => fc.boolean().map((isOurs) => ({ ...step, isOurs })));

describe.each(["host", "drive"] as const)("undoing the changes of one of two writers, on a %s root,", (kind) => {
  test("loses nothing of the other, and what is refused changes nothing", async () => {
    const property = fc.asyncProperty(
      fc.array(anyStep, { minLength: 4, maxLength: 16 }),
      fc.boolean(),
      async (steps, atOnce) => {
        const ground = await openGround(kind);
        try {
          const { ours, theirs } = await changed(ground, steps);
          const before = await seenIn(ground);
          const standing = theirs.filter((mark) => before.some((one) => one.includes(mark)));
          for (const input of atOnce && ours.length > 0 ? [{ ids: ours }] : ours.map((id) => ({ id }))) {
            const then = await seenIn(ground);
            if (!(await attempt(ground.invoke("file:undo", input)))) expect(await seenIn(ground)).toEqual(then);
          }
          const after = await seenIn(ground);
          expect(standing.filter((mark) => !after.some((one) => one.includes(mark)))).toEqual([]);
        } finally {
          await ground.close();
        }
      },
    );
    await fc.assert(property, { numRuns: 15 });
  }, 120_000);
});
