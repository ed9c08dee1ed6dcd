// Appends with a precondition on size.

import { expectFailure, streamSlowly } from "../files.js";
import { expect } from "../runner.js";
import type { Scenario } from "../scenario.js";
import { change, etag, ONE, ONE_TWO, refusal, TWO } from "./condition-change.js";

/** How an append with an expected size behaves. */
export function sizeScenarios(scenario: Scenario): void {
  scenario("is made where it finds as many", async (stage) => {
    const options = { expectedSize: 0 };
    expect(await change(stage, ["append", "file", "one"], options)).toMatchObject({ created: true, size: 3 });
    expect(await change(stage, ["append", "file", "two"], { expectedSize: 3 })).toMatchObject({ bytes: 3, size: 6 });
    expect(await stage.files.text("file")).toBe("onetwo");
  });

  scenario("does no harm a second time", async (stage) => {
    await stage.files.write("file", "one");
    for (const options of [{ expectedSize: 3 }, { expectedSize: 3, expected: etag(ONE) }]) {
      await stage.files.write("file", "one");
      await change(stage, ["append", "file", "two"], options);
      const again = await change(stage, ["append", "file", streamSlowly("tw", "o")], options);
      expect(again).toMatchObject({ bytes: 0, created: false, size: 6, isRepeated: true });
      expect(again.sha256 === undefined || again.sha256 === ONE_TWO).toBe(true);
      expect(await stage.files.text("file")).toBe("onetwo");
    }
    const nothing = await change(stage, ["append", "file", ""], { expectedSize: 6 });
    expect(nothing).toMatchObject({ bytes: 0, size: 6 });
  });

  scenario("is refused where it finds fewer, more, or another end", async (stage) => {
    await stage.files.write("file", "onetwo");
    for (const [expectedSize, content] of [
      [5, "two"],
      [7, "x"],
      [0, "two"],
      [3, "twi"],
      [4, "two"],
    ] as const) {
      const details = { expected: `${expectedSize} bytes`, currentSize: 6 };
      const call = change(stage, ["append", "file", content], { expectedSize });
      await expectFailure(call, refusal("file", "append", details));
    }
    const missing = refusal("none/file", "append", { expected: "3 bytes", current: null });
    await expectFailure(change(stage, ["append", "none/file"], { expectedSize: 3, parents: true }), missing);
    expect(await stage.files.snapshot()).toEqual([["file", "onetwo"]]);
  });

  scenario("is refused where what it would repeat stands behind another content", async (stage) => {
    await stage.files.write("file", "onetwo");
    const details = { expected: "3 bytes", currentSize: 6 };
    const options = { expectedSize: 3, expected: etag(TWO) };
    await expectFailure(change(stage, ["append", "file"], options), refusal("file", "append", details));
  });

  scenario("tells whoever may not read neither a size nor what a file ends in", async (stage) => {
    await stage.files.write("file", "onetwo");
    const options = { expectedSize: 3, holds: () => false };
    const expected = refusal("file", "append", { expected: "3 bytes" });
    await expectFailure(change(stage, ["append", "file", "two"], options), expected);
    await expectFailure(change(stage, ["append", "file", "twx"], options), expected);
  });

  scenario("lets one of several add to a size", async (stage) => {
    await stage.files.write("file", "");
    const outcomes = await Promise.allSettled(
      ["a", "b", "c", "d"].map((text) => change(stage, ["append", "file", text], { expectedSize: 0 })),
    );
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect((await stage.files.text("file")).length).toBe(1);
  });
}
