// Preconditions of changes, and the hashes that changes report.

import { existsNotDirectory, isADirectory, parentMissing } from "../../core/errors/texts.js";
import { etagOf, hashText } from "../../core/etag.js";
import { bodyOf, expectFailure, placeOf, streamSlowly } from "../files.js";
import { describe, expect } from "../runner.js";
import type { Scenario } from "../scenario.js";
import { change, codeOf, EMPTY, etag, hash, ONE, ONE_TWO, refusal, TWO } from "./condition-change.js";
import { sizeScenarios } from "./size-scenarios.js";

/** SHA-256 of this many times "x". */
const MEBIBYTE = "8f990ba0b577b51cf009ea049368c16bbda1b21e1b93be07a824758bb253c39b";

/** Which preconditions changes check, and what they report about their result. */
export function conditionSuite(scenario: Scenario): void {
  describe("what is written", () => answerScenarios(scenario));
  describe("a change that is meant to find something", () => {
    metScenarios(scenario);
    missedScenarios(scenario);
    shapeScenarios(scenario);
    rightsScenarios(scenario);
    contestScenarios(scenario);
  });
  describe("an append that counts bytes", () => sizeScenarios(scenario));
}

function answerScenarios(scenario: Scenario): void {
  for (const [how, content] of [
    ["at once", "one"],
    ["as a stream", streamSlowly("o", "", "ne")],
  ] as const) {
    scenario(`comes back as its hash and size, written ${how}`, async (stage) => {
      const written = await change(stage, ["write", "file", content], {});
      expect(written).toEqual({ bytes: 3, created: true, sha256: ONE, size: 3 });
    });
  }

  scenario("comes back right where it is large", async (stage) => {
    const chunk = "x".repeat(65_536);
    const [all, streamed] = [chunk.repeat(16), streamSlowly(...Array.from({ length: 16 }, () => chunk))];
    const first = await change(stage, ["write", "a", all], {});
    const second = await change(stage, ["write", "b", streamed], {});
    expect([first.sha256, second.sha256]).toEqual([MEBIBYTE, MEBIBYTE]);
  });

  scenario("of nothing has a hash too", async (stage) => {
    expect(await change(stage, ["write", "file", ""], {})).toEqual({ bytes: 0, created: true, sha256: EMPTY, size: 0 });
  });

  scenario("by an append tells the size of all, and its hash at least where all of it was seen", async (stage) => {
    const made = await change(stage, ["append", "file", "one"], {});
    expect(made).toEqual({ bytes: 3, created: true, sha256: ONE, size: 3 });
    const checked = await change(stage, ["append", "file", "two"], { expected: etag(ONE) });
    expect(checked).toEqual({ bytes: 3, created: false, sha256: ONE_TWO, size: 6 });
    const more = await change(stage, ["append", "file", streamSlowly("!")], {});
    expect(more).toMatchObject({ bytes: 1, created: false, size: 7 });
  });
}

function metScenarios(scenario: Scenario): void {
  for (const method of ["write", "append", "remove"] as const) {
    for (const [form, expected] of [
      ["etag", etag(ONE)],
      ["hash", hash(ONE)],
    ] as const) {
      scenario(`is made where it finds that: ${method}, by ${form}`, async (stage) => {
        await stage.files.write("file", "one");
        await change(stage, [method, "file"], { expected });
        const text = { write: "two", append: "onetwo", remove: undefined }[method];
        expect(await stage.files.snapshot()).toEqual(text === undefined ? [] : [["file", text]]);
      });
    }
  }

  for (const method of ["write", "append", "mkdir"] as const) {
    scenario(`is made where nothing is and nothing was to be: ${method}`, async (stage) => {
      const answer = await change(stage, [method, "a/b", "one"], { expected: "nothing", parents: true });
      expect(answer).toMatchObject({ created: true });
      expect(await stage.files.snapshot()).toEqual([
        ["a", null],
        ["a/b", method === "mkdir" ? null : "one"],
      ]);
    });
  }

  scenario("asks for content, not for time: the same bytes written again are still the same", async (stage) => {
    await stage.files.write("file", "two");
    await stage.files.write("file", "one");
    await stage.files.write("other", "one");
    await change(stage, ["write", "file", "one"], { expected: etag(ONE) });
    await change(stage, ["write", "file", "two"], { expected: etag(ONE) });
    expect(await stage.files.text("file")).toBe("two");
  });

  scenario("finds what an append has made of a file", async (stage) => {
    await stage.files.write("file", "one");
    await stage.files.append("file", "two");
    await change(stage, ["remove", "file"], { expected: hash(ONE_TWO) });
    expect(await stage.files.snapshot()).toEqual([]);
  });
}

function missedScenarios(scenario: Scenario): void {
  for (const method of ["write", "append", "remove"] as const) {
    scenario(`is refused where it finds something else, and is told what: ${method}`, async (stage) => {
      await stage.files.write("file", "one");
      const details = { expected: etagOf(TWO), current: etagOf(ONE) };
      await expectFailure(change(stage, [method, "file"], { expected: etag(TWO) }), refusal("file", method, details));
      expect(await stage.files.snapshot()).toEqual([["file", "one"]]);
    });

    scenario(`is refused where it finds nothing, before content is asked for: ${method}`, async (stage) => {
      const content = bodyOf("two");
      let loads = 0;
      const counted = {
        load: () => {
          loads++;
          return content.load();
        },
      };
      const options = { expected: hash(ONE), parents: true };
      const details = { expected: hashText(ONE), current: null };
      await expectFailure(change(stage, [method, "a/file", counted], options), refusal("a/file", method, details));
      expect([loads, await stage.files.snapshot()]).toEqual([0, []]);
    });
  }

  for (const method of ["write", "append"] as const) {
    scenario(`is refused where nothing was to be, before content is asked for: ${method}`, async (stage) => {
      await stage.files.write("file", "one");
      let loads = 0;
      const counted = {
        load: () => {
          loads++;
          return Buffer.from("two");
        },
      };
      const call = change(stage, [method, "file", counted], { expected: "nothing" });
      await expectFailure(call, refusal("file", method, { expected: "*", current: etagOf(ONE) }));
      expect([loads, await stage.files.snapshot()]).toEqual([0, [["file", "one"]]]);
    });
  }

  scenario("is refused where another has been faster while its content was on its way", async (stage) => {
    await stage.files.write("file", "one");
    for (const expected of [etag(ONE), "nothing"] as const) {
      const path = expected === "nothing" ? "new" : "file";
      const load = async () => {
        await stage.files.write(path, "two");
        return Buffer.from("three");
      };
      const details = { expected: expected === "nothing" ? "*" : etagOf(ONE), current: etagOf(TWO) };
      await expectFailure(change(stage, ["write", path, { load }], { expected }), refusal(path, "write", details));
      expect(await stage.files.text(path)).toBe("two");
    }
  });

  scenario("mkdir is refused where a directory was not to be", async (stage) => {
    await stage.files.mkdir("dir");
    const call = change(stage, ["mkdir", "dir"], { expected: "nothing" });
    await expectFailure(call, refusal("dir", "mkdir", { expected: "*" }));
  });
}

function shapeScenarios(scenario: Scenario): void {
  scenario("fails as others do where no file can be", async (stage) => {
    await stage.files.mkdir("dir");
    await stage.files.write("file", "one");
    for (const method of ["write", "append", "remove"] as const) {
      const call = change(stage, [method, "dir"], { expected: etag(ONE), recursive: true });
      await expectFailure(call, isADirectory(placeOf("dir")));
    }
    for (const method of ["write", "append"] as const) {
      const nothing = change(stage, [method, "dir"], { expected: "nothing" });
      await expectFailure(nothing, isADirectory(placeOf("dir")));
      const orphan = change(stage, [method, "none/file"], { expected: "nothing" });
      await expectFailure(orphan, parentMissing(placeOf("none")));
    }
    const mkdir = change(stage, ["mkdir", "file"], { expected: "nothing" });
    await expectFailure(mkdir, existsNotDirectory(placeOf("file")));
    expect(await stage.files.snapshot()).toEqual([
      ["dir", null],
      ["file", "one"],
    ]);
  });
}

function rightsScenarios(scenario: Scenario): void {
  for (const [there, expected, text] of [
    ["one", etag(TWO), etagOf(TWO)],
    ["one", "nothing", "*"],
    [undefined, etag(TWO), etagOf(TWO)],
  ] as const) {
    scenario(
      `tells nothing of ${there ?? "nothing"} to whoever may not read, where ${text} was to be`,
      async (stage) => {
        if (there !== undefined) await stage.files.write("file", there);
        const requests: string[] = [];
        const holds = (ability: string): boolean => {
          requests.push(ability);
          return false;
        };
        const call = change(stage, ["write", "file"], { expected, holds });
        await expectFailure(call, refusal("file", "write", { expected: text }));
        expect(new Set(requests)).toEqual(new Set(["crud/read"]));
      },
    );
  }
}

function contestScenarios(scenario: Scenario): void {
  scenario("has one winner for each version, and no loser changes anything", async (stage) => {
    const rounds = 10;
    const writers = 6;
    await stage.files.write("count", "one");
    let { sha256 = "" } = await change(stage, ["write", "count", "0"], { expected: etag(ONE) });
    for (let round = 1; round <= rounds; round++) {
      const texts = Array.from({ length: writers }, (_, writer) => `${round} by ${writer}`);
      const outcomes = await Promise.allSettled(
        texts.map((text, writer) => {
          const content = writer % 2 === 0 ? text : streamSlowly(text.slice(0, 2), text.slice(2));
          return change(stage, ["write", "count", content], { expected: hash(sha256) });
        }),
      );
      const won = outcomes.flatMap((outcome, writer) => (outcome.status === "fulfilled" ? [writer] : []));
      expect(won).toHaveLength(1);
      const [winner = -1] = won;
      expect(await stage.files.text("count")).toBe(texts[winner]);
      for (const outcome of outcomes)
        if (outcome.status === "rejected") expect(codeOf(outcome.reason)).toBe("CONFLICT");
      const result = outcomes[winner];
      sha256 = (result?.status === "fulfilled" ? result.value.sha256 : undefined) ?? "";
    }
  });

  scenario("loses no update of writers that try until they win", async (stage) => {
    let { sha256 = "" } = await change(stage, ["write", "count", "0"], {});
    const versions = new Map([[sha256, 0]]);
    const increment = async (): Promise<void> => {
      for (;;) {
        const found = await stage.files.text("count");
        const [before = ""] = Array.from(versions).find(([, count]) => String(count) === found) ?? [];
        try {
          const written = await change(stage, ["write", "count", String(Number(found) + 1)], {
            expected: hash(before),
          });
          sha256 = written.sha256 ?? "";
          versions.set(sha256, Number(found) + 1);
          return;
        } catch (error) {
          if (codeOf(error) !== "CONFLICT") throw error;
        }
      }
    };
    await Promise.all(
      Array.from({ length: 5 }, async () => {
        for (let turn = 0; turn < 8; turn++) await increment();
      }),
    );
    expect(await stage.files.text("count")).toBe("40");
  });

  scenario("makes a file once, whoever tries", async (stage) => {
    const texts = Array.from({ length: 8 }, (_, writer) => `by ${writer}`);
    const outcomes = await Promise.allSettled(
      texts.map((text) => change(stage, ["write", "a/new", text], { expected: "nothing", parents: true })),
    );
    const won = texts.filter((_, writer) => outcomes[writer]?.status === "fulfilled");
    expect(won).toEqual([await stage.files.text("a/new")]);
  });
}
