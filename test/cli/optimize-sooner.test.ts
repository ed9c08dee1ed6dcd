import { execFileSync } from "node:child_process";
import { describe, expect, test } from "@jest/globals";
import { SOONER } from "../../src/cli/optimize-sooner.js";
import { runHere } from "./in-process.js";
import { makeFolder } from "./process.js";

describe("code is optimized sooner", () => {
  const flag = SOONER[process.versions.v8.split(".")[0] ?? ""];
  const on = flag === undefined ? test.skip : test;

  on("by a flag that this V8 has, set to less than its own value", () => {
    const [name = "", value] = (flag ?? "").split("=");
    const options = execFileSync(process.execPath, ["--v8-options"], { encoding: "utf8" });
    const usual = new RegExp(`default: ${name}=(\\d+)`).exec(options)?.[1];
    expect(Number(value)).toBeLessThan(Number(usual));
  });

  test("where requests are answered, and only there", async () => {
    const folder = makeFolder({ "notes/a.md": "text" });
    let begun = 0;
    const onServing = () => {
      begun += 1;
    };
    expect(await runHere(["ls", "--root", "notes"], { cwd: folder, onServing })).toMatchObject({ status: 0 });
    expect(begun).toBe(0);
    expect(await runHere(["mcp", "notes"], { cwd: folder, onServing })).toMatchObject({ status: 0 });
    expect(begun).toBe(1);
  });
});
