import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { type Ground, useGround } from "../ground.js";

const may = (...paths: string[]): SurfaceContext => ({
  caps: paths.map((path) => ({ with: `file://r/${path}`, can: "crud/read" })),
});

async function found(ground: Ground, glob: string | string[], more: object = {}): Promise<string[]> {
  const { paths } = await ground.run("glob", { pattern: glob, ...more });
  const grep = await ground.run("grep", { pattern: "text", glob, output: "files", ...more });
  expect(grep.paths).toEqual(paths);
  return paths;
}

describe("a glob that names the root itself is the glob in it", () => {
  const ground = useGround();
  const put = (...paths: string[]): void => {
    for (const path of paths) ground.put(path, "text");
  };
  const tops = () => [ground.dir, ground.dir.slice(1), `file://${ground.dir}`, "file://r", "r", "/r"];

  test("by its host path, its URI or its name", async () => {
    put("src/x.ts", "src/n/y.ts", "z.ts");
    for (const top of tops()) {
      expect(await found(ground, `${top}/src/*.ts`)).toEqual(["src/x.ts"]);
      expect(await found(ground, [`${top}/src/{n,m}/**`, `${top}/*.ts`])).toEqual(["src/n/y.ts", "z.ts"]);
      expect(await found(ground, `${top}/src/x.ts`)).toEqual(["src/x.ts"]);
      expect(await found(ground, `${top}/**`)).toEqual(["src/n/y.ts", "src/x.ts", "z.ts"]);
      expect(await found(ground, "*.ts", { exclude: `${top}/src/**` })).toEqual(["z.ts"]);
      expect((await ground.run("tree", { exclude: `${top}/src/n` })).tree).toBe("r/\n\tsrc/\n\t\tx.ts\n\tz.ts\n");
    }
    expect(await found(ground, `${ground.dir}/src/n/*.ts`, { path: "src" })).toEqual(["src/n/y.ts"]);
    expect((await ground.fail("glob", { pattern: `${ground.dir}/lib/*.ts`, path: "src" })).code).toBe(
      "INVALID_PATTERN",
    );
  });

  test("with names that have signs of globs, and page by page", async () => {
    put("a[b/1.ts", "a[b/2.ts");
    const pattern = `file://${ground.dir}/a%5Bb/*.ts`;
    const first = await ground.run("glob", { pattern, limit: 1 });
    expect(first.paths).toEqual(["a[b/1.ts"]);
    const { nextCursor: cursor = "" } = first;
    expect((await ground.run("glob", { pattern, limit: 1, cursor })).paths).toEqual(["a[b/2.ts"]);
  });

  test("unless a folder of that name is there, or it begins with ./", async () => {
    put("src/x.ts");
    expect(await found(ground, "./r/src/*.ts")).toEqual([]);
    put("r/src/inner.ts", join(ground.dir, "src/inner.ts"));
    expect(await found(ground, "r/src/*.ts")).toEqual(["r/src/inner.ts"]);
    const doubled = `${ground.dir.slice(1)}/src/*.ts`;
    expect(await found(ground, doubled)).toEqual([`${ground.dir.slice(1)}/src/inner.ts`]);
  });

  test("as far as the caller may read, and the record names no other place", async () => {
    put("mine/a.ts", "yours/b.ts");
    const own = may("mine/");
    const { paths } = await ground.run("glob", { pattern: `${ground.dir}/mine/*`, path: "mine", ignore: "none" }, own);
    expect(paths).toEqual(["mine/a.ts"]);
    const ask = (pattern: string) => ground.fail("glob", { pattern, path: "mine" }, own);
    expect((await ask(`${ground.dir}/yours/*`)).code).toBe("INVALID_PATTERN");
    expect(ground.audit.map(({ resource, others }) => [resource, others ?? []])).toEqual([
      ["file://r/mine", []],
      ["file://r/mine", []],
    ]);
  });
});

describe("where host paths are not disclosed", () => {
  const ground = useGround({ discloseHostPaths: false });

  test("no answer depends on them, and the name is known", async () => {
    ground.put("src/x.ts", "text");
    const other = ground.dir.replace(/root$/, "ro0t");
    const answers = async (top: string) => {
      const all = [
        await ground.fail("glob", { pattern: `${top}/src/*.ts` }),
        await ground.fail("grep", { pattern: "text", glob: `${top}/src/*.ts` }),
        await ground.run("glob", { pattern: `${top.slice(1)}/src/*.ts` }),
        await ground.run("glob", { pattern: `file://${top}/src/*.ts` }),
        await ground.run("glob", { pattern: "*.ts", exclude: `${top.slice(1)}/src/**` }),
      ];
      return JSON.stringify(all).replaceAll(top, "TOP");
    };
    expect(await answers(ground.dir)).toEqual(await answers(other));
    for (const top of ["r", "/r", "file://r"]) expect(await found(ground, `${top}/src/*.ts`)).toEqual(["src/x.ts"]);
  });
});
