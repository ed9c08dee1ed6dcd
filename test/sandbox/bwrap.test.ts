import { describe, expect } from "@jest/globals";
import { needs } from "../needs.js";
import { bwrapHere, useShell } from "./ground.js";

const { possible, reason } = await bwrapHere();
const test = needs(possible, reason);
const ground = useShell();

describe("a command in bubblewrap", () => {
  test("runs in the root, and its files are there at once", async () => {
    ground.put("a/b", "content");
    const ran = await ground.sh("cat a/b && pwd && echo made > c && echo oops >&2 && exit 3");
    expect(ran).toEqual({
      stdout: "content/workspace\n",
      stderr: "oops\n",
      exitCode: 3,
      signal: null,
      timedOut: false,
      truncated: false,
    });
    expect(await ground.adapter.invoke("file:read", { root: "r", path: "c" })).toMatchObject({ content: "made\n" });
    expect(ground.audit[0]).toMatchObject({
      operation: "file:exec",
      outcome: "OK",
      resource: "file://r/",
      exitCode: 3,
      bytes: 23,
    });
    expect(ground.internal).toEqual([]);
  });

  test("has only the environment that it is given", async () => {
    expect(
      (await ground.sh("", { argv: ["/bin/sh", "-c", "cat /proc/1/environ; exec env -u PWD"] })).stdout
        .trim()
        .split("\n")
        .sort(),
    ).toEqual(["HOME=/workspace", "LANG=C.UTF-8", expect.stringMatching(/^PATH=/)]);
  });
});
