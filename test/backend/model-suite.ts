import { describe, expect } from "@jest/globals";
import fc from "fast-check";
import { type Files, streamSlowly } from "../../src/backend-suite/files.js";
import { FileAdapterError } from "../../src/core/errors/errors.js";
import { type Command, type Model, type Outcome, runOnModel } from "./model.js";
import type { Scenario } from "./suite.js";

/** Few and short, so that commands meet: files in the place of directories, and the other way round. */
const path = fc.constantFrom("", "a", "b", "a/x", "a/y", "a/x/z", "b/x", "b/x/y", "b/x/y/z", "c/d/e");
const content = fc.string({ maxLength: 8 });

const of = <K extends Command["kind"]>(...kinds: K[]): fc.Arbitrary<K> => fc.constantFrom(...kinds);

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 7, arbitrary: fc.record({ kind: of("write", "append"), path, content, parents: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ kind: of("mkdir"), path, parents: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ kind: of("remove"), path, recursive: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ kind: of("read"), path, offset: fc.nat(6), length: fc.nat(6) }) },
  { weight: 4, arbitrary: fc.record({ kind: of("stat", "list"), path }) },
);

export function modelSuite(scenario: Scenario): void {
  describe("model", () => {
    scenario("random commands have the results a flat table gives", async ({ files }) => {
      const agreement = fc.asyncProperty(
        fc.array(command, { minLength: 1, maxLength: 200, size: "max" }),
        async (commands) => {
          for (const name of await files.names("")) await files.remove(name, { recursive: true });
          await expectAgreement(files, commands);
        },
      );
      // The time limit is for slow disks: it ends the runs, or the search for a smaller counterexample, not the test.
      await fc.assert(agreement, { numRuns: 10, interruptAfterTimeLimit: 20_000 });
    });
  });
}

async function expectAgreement(files: Files, commands: readonly Command[]): Promise<void> {
  const model: Model = new Map();
  for (const each of commands) {
    const expected = runOnModel(model, each);
    expect({ command: each, outcome: await runOnFiles(files, each) }).toEqual({ command: each, outcome: expected });
  }
  expect(new Map(await files.snapshot())).toEqual(model);
}

async function runOnFiles(files: Files, each: Command): Promise<Outcome> {
  try {
    return { value: await answer(files, each) };
  } catch (error) {
    if (!(error instanceof FileAdapterError)) throw error;
    const { path } = error.data;
    return { code: error.code, path };
  }
}

async function answer(files: Files, each: Command): Promise<unknown> {
  switch (each.kind) {
    case "write":
      return files.write(each.path, each.content, each);
    case "append":
      return files.append(each.path, streamSlowly(each.content), each);
    case "mkdir":
      return files.mkdir(each.path, each);
    case "remove":
      return files.remove(each.path, each);
    case "read": {
      const { bytes, size } = await files.read(each.path, each);
      return { text: bytes.toString(), size };
    }
    case "stat":
      return shape(await files.stat(each.path));
    case "list": {
      const { entries, total } = await files.list(each.path);
      return { entries: entries.map((entry) => ({ name: entry.name, ...shape(entry) })), total };
    }
  }
}

const shape = (found: { type: string; size: number } | undefined) =>
  found === undefined ? undefined : { type: found.type, size: found.size };
