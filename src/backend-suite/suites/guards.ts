// Authority checks come before any effect.

import { contentTooLarge, rootDelete } from "../../core/errors/texts.js";
import { parsePath } from "../../path/grammar.js";
import { denial, SUITE_ROOT, testAccess } from "../access.js";
import { CHANGES, CONTENT_CHANGES, makeGround, PARENT_MAKING_CHANGES } from "../changes.js";
import { type Content, expectFailure, type Files, filesOf, placeOf, yieldToLoop } from "../files.js";
import { describe, expect } from "../runner.js";
import type { Scenario } from "../scenario.js";

const deny = (): never => {
  throw denial();
};

/** A call has no effect and discloses nothing before every required permission has been asked for. */
export function guardsSuite(scenario: Scenario): void {
  describe("real place", () => {
    askingScenarios(scenario);
    realDenialScenarios(scenario);
    oracleScenarios(scenario);
  });
  describe("parents to be made", () => createDenialScenarios(scenario));
  describe("content that fails", () => failingContentScenarios(scenario));
}

/** Every method, on a target where it succeeds. `events` records its uses of the caller's content or plan. */
const CALLS: readonly { title: string; target: string; run: (files: Files, events: string[]) => Promise<unknown> }[] = [
  ...CONTENT_CHANGES.map(({ title, target, put }) => ({
    title,
    target,
    run: (files: Files, events: string[]) =>
      put(files, {
        load: () => {
          events.push("load");
          return Buffer.from("x");
        },
      }),
  })),
  ...CHANGES.slice(CONTENT_CHANGES.length),
  { title: "mkdir of an existing directory", target: "full", run: (files) => files.mkdir("full") },
  { title: "remove of nothing", target: "none", run: (files) => files.remove("none") },
  {
    title: "read",
    target: "full/inner",
    run: (files, events) =>
      files.read("full/inner", (size) => {
        events.push("plan");
        return { offset: 0, length: size };
      }),
  },
  { title: "stat", target: "full/inner", run: (files) => files.stat("full/inner") },
  { title: "stat of nothing", target: "full/none", run: (files) => files.stat("full/none") },
  { title: "stat of the root", target: "", run: (files) => files.stat("") },
  { title: "list", target: "full", run: (files) => files.list("full") },
  {
    title: "walk",
    target: "full",
    run: (files, events) =>
      files.walk("full", () => {
        events.push("visit");
        return "enter";
      }),
  },
];

function askingScenarios(scenario: Scenario): void {
  for (const { title, target, run } of CALLS) {
    scenario(`is asked for first, by ${title}`, async ({ backend, files, links }) => {
      await makeGround(files);
      const events: string[] = [];
      await run(filesOf(backend, { real: (segments) => events.push(`real ${segments.join("/")}`) }), events);
      const realEvents = events.filter((event) => event.startsWith("real"));
      expect(events[0]).toBe(`real ${target}`);
      expect(new Set(realEvents)).toEqual(new Set([`real ${target}`]));
      if (!links) expect(realEvents).toHaveLength(1);
    });
  }
}

function realDenialScenarios(scenario: Scenario): void {
  for (const { title, run } of CALLS) {
    scenario(`denied stops ${title} before it does anything`, async ({ backend, files }) => {
      await makeGround(files);
      const before = await files.snapshot();
      const events: string[] = [];
      await expectFailure(run(filesOf(backend, { real: deny }), events), denial());
      expect(events).toEqual([]);
      expect(await files.snapshot()).toEqual(before);
    });
  }
}

function oracleScenarios(scenario: Scenario): void {
  const questions: readonly [string, (files: Files) => Promise<unknown>][] = [
    ["whether a file is there (read)", (files) => files.read("none")],
    ["whether a file is there (append)", (files) => files.append("none", "x")],
    ["whether a directory is there (list)", (files) => files.list("none")],
    ["whether a directory is there (walk)", (files) => files.walk("none")],
    ["whether a directory is there (mkdir)", (files) => files.mkdir("full")],
    ["whether a parent is there (read)", (files) => files.read("none/none")],
    ["whether a parent is there (write)", (files) => files.write("none/none", "x")],
    ["whether a parent is there (append)", (files) => files.append("none/none", "x")],
    ["whether a parent is there (mkdir)", (files) => files.mkdir("none/none")],
    ["whether a parent is there (remove)", (files) => files.remove("none/none")],
    ["whether a parent is a file (stat)", (files) => files.stat("old/none")],
    ["whether a parent is a file (write)", (files) => files.write("old/none", "x")],
    ["whether a parent is a file (mkdir)", (files) => files.mkdir("old/none")],
    ["whether the target is a directory (read)", (files) => files.read("full")],
    ["whether the target is a directory (write)", (files) => files.write("full", "x")],
    ["whether the target is a file (list)", (files) => files.list("old")],
    ["whether the target is a file (mkdir)", (files) => files.mkdir("old")],
    ["whether a directory holds something (remove)", (files) => files.remove("full")],
  ];
  for (const [question, ask] of questions) {
    scenario(`denied does not tell ${question}`, async ({ backend, files }) => {
      await makeGround(files);
      await expectFailure(ask(filesOf(backend, { real: deny })), denial());
    });
  }

  scenario("is not asked for before the root itself is kept from removal", async ({ backend }) => {
    await expectFailure(filesOf(backend, { real: deny }).remove("", { recursive: true }), rootDelete(SUITE_ROOT));
  });
}

function createDenialScenarios(scenario: Scenario): void {
  for (const { title, run } of PARENT_MAKING_CHANGES) {
    for (const refused of ["a", "a/b"]) {
      scenario(`denied at ${refused} leave nothing behind: ${title}`, async ({ backend, files }) => {
        await makeGround(files);
        const before = await files.snapshot();
        const create = (requested: readonly string[]): void => {
          if (requested.join("/") === refused) throw denial();
        };
        await expectFailure(run(filesOf(backend, { create })), denial());
        expect(await files.snapshot()).toEqual(before);
      });
    }
  }

  scenario("are asked for before the content", async ({ backend }) => {
    const events: string[] = [];
    const access = testAccess({ path: "a/b/c", create: (requested) => events.push(requested.join("/")) });
    const load = () => {
      events.push("load");
      return Buffer.from("x");
    };
    await backend.write(parsePath(SUITE_ROOT, "a/b/c"), { load }, { parents: true }, access);
    expect(events).toEqual(["a", "a/b", "load"]);
  });
}

function failingContentScenarios(scenario: Scenario): void {
  const refusal = contentTooLarge(placeOf("x"), 2, 1);
  const fail = (): never => {
    throw refusal;
  };
  async function* failAfter(chunks: number): AsyncGenerator<Uint8Array> {
    for (let count = 0; count < chunks; count++) {
      await yieldToLoop();
      yield Buffer.alloc(50_000, "partial ");
    }
    fail();
  }
  const failures: readonly [string, () => Content][] = [
    ["at once", () => ({ load: fail })],
    ["after a while", () => ({ load: () => yieldToLoop().then(fail) })],
    ["as a stream, before its first chunk", () => failAfter(0)],
    ["as a stream, after some chunks", () => failAfter(5)],
    ["as a stream that came late", () => ({ load: () => yieldToLoop().then(() => failAfter(2)) })],
  ];
  for (const { title, put, run } of CONTENT_CHANGES) {
    for (const [when, content] of failures) {
      scenario(`changes nothing, makes no parents and blocks no one: ${title}, failing ${when}`, async ({ files }) => {
        await makeGround(files);
        const before = await files.snapshot();
        await expectFailure(put(files, content()), refusal);
        expect(await files.snapshot()).toEqual(before);
        await expect(run(files)).resolves.toMatchObject({ bytes: expect.any(Number) });
      });
    }
  }
}
