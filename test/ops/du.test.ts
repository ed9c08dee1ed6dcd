import { chmodSync, linkSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { failure, useGround } from "./ground.js";
import { asNobody } from "./rights.js";

const ground = useGround({ root: { deny: ["secret"] } });
const du = (input: Parameters<typeof ground.run<"du">>[1] = {}) => ground.run("du", input);

describe("file:du", () => {
  test("sums what is below, and names what is in it, biggest first", async () => {
    ground.put("a/b/big", "x".repeat(1000));
    ground.put("a/small", "12");
    ground.put("top", "123");
    ground.mkdir("empty");
    expect(await du()).toEqual({
      path: "",
      bytes: 1005,
      files: 3,
      directories: 3,
      children: [
        { path: "a/", bytes: 1002, files: 2 },
        { path: "top", bytes: 3, files: 1 },
        { path: "empty/", bytes: 0, files: 0 },
      ],
      timedOut: false,
      complete: true,
    });
    expect((await du({ depth: 0 })).children).toEqual([]);
    expect((await du({ path: "a", depth: 10 })).children.map(({ path, bytes }) => [path, bytes])).toEqual([
      ["a/b/", 1000],
      ["a/b/big", 1000],
      ["a/small", 2],
    ]);
  });

  test("gives the size of a file", async () => {
    ground.put("a", "12345");
    expect(await du({ path: "a" })).toMatchObject({ path: "a", bytes: 5, files: 1, directories: 0, children: [] });
  });

  test("counts a file once however many names it has, and links not at all", async () => {
    ground.put("a/one", "12345");
    linkSync(join(ground.dir, "a/one"), join(ground.dir, "a/two"));
    ground.mkdir("b");
    linkSync(join(ground.dir, "a/one"), join(ground.dir, "b/three"));
    symlinkSync("a", join(ground.dir, "link"));
    expect(await du()).toMatchObject({ bytes: 5, files: 1, directories: 2, hidden: { symlinks: 1 } });
  });

  test("counts what the policy denies, without naming it", async () => {
    ground.put("secret/deep/x", "12345");
    ground.put("open", "1");
    const found = await du({ depth: 3 });
    expect(found).toMatchObject({ bytes: 6, files: 2, directories: 2, hidden: { policy: 1 }, complete: true });
    expect(found.children).toEqual([{ path: "open", bytes: 1, files: 1 }]);
  });

  test("names so many, and says that there are more", async () => {
    for (const name of ["a", "b", "c"]) ground.put(name, name);
    const found = await du({ limit: 2 });
    expect(found).toMatchObject({ bytes: 3, complete: false, reason: "limit", hint: "Pass a larger limit" });
    expect(found.children).toHaveLength(2);
    expect(await ground.render("du", { limit: 2 })).toMatchObject({
      kind: "text",
      text: "3\t/ (3 files, 0 directories)\n1\ta\n1\tb\n",
      note: "Pass a larger limit",
    });
  });

  test("never looks like an empty directory when its time is over", async () => {
    ground.put("a/b", "1");
    ground.put("c", "2");
    const found = await du({ timeoutMs: 1 });
    if (!found.complete) expect(found).toMatchObject({ reason: "timeout", timedOut: true });
    expect(found.files + found.directories).toBeGreaterThan(0);
  });

  test("counts directories that it may not look into", async () => {
    ground.put("closed/x", "1");
    chmodSync(join(ground.dir, "closed"), 0o000);
    const found = await asNobody(ground.dir, () => du());
    chmodSync(join(ground.dir, "closed"), 0o755);
    expect(found).toMatchObject({ directories: 1, files: 0, hidden: { unreadable: 1 } });
  });

  test("is refused where nothing is, and what is denied", async () => {
    expect(await ground.fail("du", { path: "none" })).toEqual(failure("NOT_FOUND", "Not found: r:none", "none"));
    expect((await ground.fail("du", { path: "secret" })).code).toBe("DENIED_BY_POLICY");
    expect((await ground.fail("du", { depth: 11 })).code).toBe("INVALID_INPUT");
  });
});
