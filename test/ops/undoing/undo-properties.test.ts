import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { assembleAdapter, type HostedFileAdapter } from "../../../src/adapter/adapter.js";
import { parseFileConfig } from "../../../src/config/load.js";
import { FileAdapterError } from "../../../src/core/errors/errors.js";
import { silentLog } from "../../../src/core/ports/log.js";
import type { FileOutputs } from "../../../src/schema/types.js";
import {
  anyOperation,
  anyPicked,
  inputOf,
  MOVED_TREES,
  type OperationStep,
  type Picked,
  stepOf,
} from "./random-operations.js";
import { snapshotOf } from "./venue-ground.js";

/** Those of folders with a slash at the end. */
const pathsIn = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .map((entry) => `${join(entry.parentPath, entry.name).slice(dir.length + 1)}${entry.isDirectory() ? "/" : ""}`)
    .filter((path) => !path.startsWith(".venue-files"))
    .sort();

describe.each(["host", "temp"])("undoing everything in reverse, on a %s root,", (kind) => {
  let home = "";
  let dir = "";
  let adapter: HostedFileAdapter;
  beforeAll(async () => {
    home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-undo-")));
    for (const name of ["r", "state"]) mkdirSync(join(home, name));
    const root = kind === "host" ? { path: join(home, "r"), durability: "none" as const } : { temp: true as const };
    const config = parseFileConfig({ roots: { r: { ...root, journal: "on" } } }, { baseDir: home });
    const journals = {
      openState: () => join(home, "state"),
      lookAtState: () => join(home, "state"),
      byDefault: true,
      log: silentLog,
    };
    adapter = await assembleAdapter(config, { journals, discloseHostPaths: false });
    dir = (adapter.roots[0] as { hostPath?: string }).hostPath ?? "";
  });
  afterAll(async () => {
    await adapter.close();
    rmSync(home, { recursive: true, force: true });
  });

  const invoke = <T>(op: string, input: object): Promise<T> =>
    adapter.invoke(`file:${op}` as never, input as never) as Promise<T>;

  /** Ids of the newest entries, or of their groups, newest first, down to a known one. */
  async function unitsSince(known: string | undefined): Promise<string[]> {
    const { entries } = await invoke<FileOutputs["file:history"]>("history", { root: "r", limit: 500 });
    const end = entries.findIndex(({ id }) => id === known);
    const fresh = end < 0 ? entries : entries.slice(0, end);
    return [...new Set(fresh.map(({ id, group }) => group ?? id))];
  }

  const newestId = async () =>
    (await invoke<FileOutputs["file:history"]>("history", { root: "r", limit: 1 })).entries[0]?.id;

  const undoAll = async (units: readonly string[]): Promise<string[]> => {
    const undos: string[] = [];
    for (const id of units) {
      const { group, id: one } = await invoke<FileOutputs["file:undo"]>("undo", { id });
      undos.unshift(group ?? one ?? "");
    }
    return undos;
  };

  /** Makes random changes. @returns how it was and is, and the newest id from before */
  async function changed(steps: readonly (OperationStep | Picked)[]) {
    for (const name of readdirSync(dir)) if (name !== ".venue-files") rmSync(join(dir, name), { recursive: true });
    mkdirSync(join(dir, "d", "e"), { recursive: true });
    for (const [index, name] of ["a", "d/a", "d/e/a"].entries()) {
      writeFileSync(join(dir, name), `old\n${index}`);
      chmodSync(join(dir, name), 0o640 + index);
      utimesSync(join(dir, name), 1_600_000_000, 1_600_000_000 + index + 0.4567);
    }
    const first = snapshotOf(dir);
    const known = await newestId();
    for (const step of steps) {
      const one = "entry" in step ? stepOf(step, pathsIn(dir)) : step;
      await invoke(one.what, inputOf("r", one)).catch((error: unknown) => {
        if (!(error instanceof FileAdapterError) || error.code === "INTERNAL") throw error;
      });
    }
    return { first, last: snapshotOf(dir), known };
  }

  const anySteps = fc.array(anyOperation, { minLength: 3, maxLength: 14 });
  const runs = { numRuns: 8, examples: MOVED_TREES };

  test("brings back the first state, and undoing that the last, byte for byte", async () => {
    const property = fc.asyncProperty(anySteps, async (steps) => {
      const { first, last, known } = await changed(steps);
      const undos = await undoAll(await unitsSince(known));
      expect(snapshotOf(dir)).toEqual(first);
      const redos = await undoAll(undos);
      expect(snapshotOf(dir)).toEqual(last);
      await undoAll(redos);
      expect(snapshotOf(dir)).toEqual(first);
    });
    await fc.assert(property, runs);
  }, 120_000);

  test("brings them back one by one wherever folders were moved in between", async () => {
    const steps = fc.array(anyPicked, { minLength: 3, maxLength: 8 });
    const property = fc.asyncProperty(steps, async (some) => {
      const { first, last, known } = await changed(some);
      const undos = await undoAll(await unitsSince(known));
      expect(snapshotOf(dir)).toEqual(first);
      await undoAll(undos);
      expect(snapshotOf(dir)).toEqual(last);
    });
    await fc.assert(property, { numRuns: 30 });
  }, 120_000);

  test("does so in one call", async () => {
    const property = fc.asyncProperty(anySteps, async (steps) => {
      const { first, last, known } = await changed(steps);
      const ids = await unitsSince(known);
      if (ids.length === 0) return;
      let unit = await invoke<FileOutputs["file:undo"]>("undo", { ids });
      expect(snapshotOf(dir)).toEqual(first);
      for (const state of [last, first]) {
        unit = await invoke<FileOutputs["file:undo"]>("undo", { id: unit.group ?? unit.id });
        expect(snapshotOf(dir)).toEqual(state);
      }
    });
    await fc.assert(property, runs);
  }, 120_000);
});
