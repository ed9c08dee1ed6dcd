import { spawnSync } from "node:child_process";
import { describe, expect, test } from "@jest/globals";
import { flagOf } from "../../src/cli/optimize-sooner.js";
import { runHere } from "./in-process.js";
import { makeFolder } from "./process.js";

describe("code is optimized sooner", () => {
  test.each([
    ["11.3.244.8-node.38", "--interrupt-budget"],
    ["12.4.254.21-node.33", "--invocation-count-for-turbofan"],
    ["13.6.233.17-node.37", "--invocation-count-for-turbofan"],
    ["14.1.146.11-node.14", undefined],
    ["1", undefined],
  ])("by V8 %s: %s", (version, name) => {
    expect(flagOf(version)?.split("=")[0]).toBe(name);
  });

  test("by nothing that this V8 complains of, and less than its own value", () => {
    const flags = [flagOf(process.versions.v8) ?? []].flat();
    const node = (...args: readonly string[]) => spawnSync(process.execPath, args, { encoding: "utf8" });
    expect(node(...flags, "-e", "0")).toMatchObject({ status: 0, stderr: "" });
    const { stdout } = node("--v8-options");
    const larger = flags.map((flag) => {
      const [name = "", value] = flag.split("=");
      return Number(new RegExp(`default: ${name}=(\\d+)`).exec(stdout)?.[1]) > Number(value);
    });
    expect(larger).toEqual(flags.map(() => true));
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
