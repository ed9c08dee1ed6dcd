import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import type { ClientReview, Effect } from "../../../src/core/ports/effect.js";
import { failureOf, useGround } from "../ground.js";
import { zipOf } from "./archives.js";

const AGENT = { surface: "mcp" };
const names = Array.from({ length: 30 }, (_, index) => `d/${String(index).padStart(2, "0")}`);

describe.each<[string, readonly string[], readonly string[]]>([
  ["all", ["all"], ["overwrite", "create"]],
  ["create", ["create"], ["overwrite", "create"]],
  ["overwrite", ["overwrite"], ["overwrite", "create"]],
])("a root that asks about %s", (_, actions, expected) => {
  const ground = useGround({ journal: true, root: { approve: { for: actions } } });
  const extract = (input: object, context: SurfaceContext = AGENT) =>
    ground.adapter.invoke("archive:extract", { root: "r", path: "x.zip", destRoot: "r", ...input }, context);
  const effectsOf = async (input: object): Promise<readonly Effect[]> => {
    const { code, data } = await failureOf(extract(input));
    expect(code).toBe("APPROVAL_REQUIRED");
    return data["effect"] as Effect[];
  };

  beforeEach(async () => {
    ground.put("x.zip", await zipOf(names.map((name) => ({ name, content: `new ${name}` }))));
    for (const name of names.slice(0, 25)) ground.put(`out/${name}`, "old");
  });

  test("is shown an extract over what is there as one effect of each kind, with the first names", async () => {
    const effects = await effectsOf({ destPath: "out" });
    expect(effects.map(({ action, path }) => [action, path])).toEqual(expected.map((action) => [action, "out"]));
    expect(effects.find(({ action }) => action === "overwrite")).toMatchObject({
      before: { type: "directory", entries: 25, size: 75 },
      after: { entries: 25, names: names.slice(0, 20) },
    });
    expect(effects.find(({ action }) => action === "create")).toMatchObject({
      after: { entries: 5, names: names.slice(25) },
    });
    for (const name of names.slice(0, 25)) expect(ground.get(`out/${name}`).toString()).toBe("old");
    expect(ground.names("out/d")).toHaveLength(25);
  });

  test("is shown a new directory as one effect", async () => {
    if (actions.includes("overwrite")) {
      expect(await extract({ destPath: "new" })).toMatchObject({ extracted: 30 });
      return;
    }
    const effects = await effectsOf({ destPath: "new" });
    expect(effects).toMatchObject([{ action: "create", path: "new", after: { entries: 31, names: { length: 20 } } }]);
    expect(ground.names()).not.toContain("new");
  });

  test("sees by itself what lies behind a link", async () => {
    ground.put("elsewhere/x", "x");
    symlinkSync("../elsewhere", join(ground.dir, "out/away"));
    ground.put(
      "x.zip",
      await zipOf([
        { name: "away/x", content: "new" },
        { name: "d/00", content: "new" },
        { name: "n", content: "" },
      ]),
    );
    const effects = await effectsOf({ destPath: "out" });
    expect(effects).toContainEqual(
      expect.objectContaining({ action: "overwrite", path: "out/away/x", real: "elsewhere/x" }),
    );
    expect(ground.get("elsewhere/x").toString()).toBe("x");
  });

  test("takes no answer for other content, not even in files that were not shown", async () => {
    const allowed: string[] = [];
    let asked = 0;
    const review: ClientReview = {
      asksIn: () => true,
      allows: (part) => allowed.includes(JSON.stringify(part)),
      ask: ({ parts }) => {
        asked += 1;
        allowed.push(...parts.map((part) => JSON.stringify(part)));
      },
    };
    const context = { ...AGENT, client: { isLocal: true, review } };
    const refused = { code: "APPROVAL_REQUIRED" };
    for (const destPath of ["out", "new"]) {
      expect(await failureOf(extract({ destPath }, context))).toMatchObject(refused);
      const before = ground.get("x.zip");
      const other = (name: string) => ({ name, content: name === names.at(-1) ? `NEW ${name}` : `new ${name}` });
      ground.put("x.zip", await zipOf(names.map(other)));
      expect(await failureOf(extract({ destPath }, context))).toMatchObject(refused);
      ground.put("x.zip", before);
      expect(await extract({ destPath }, context)).toMatchObject({ extracted: 30 });
      expect(ground.get(`${destPath}/${names.at(-1)}`).toString()).toBe(`new ${names.at(-1)}`);
    }
    expect(asked).toBe(4);
  });

  test("does not ask whoever may approve", async () => {
    expect(await extract({ destPath: "out" }, {})).toMatchObject({ extracted: 30 });
  });
});
