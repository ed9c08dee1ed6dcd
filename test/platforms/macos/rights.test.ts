/** @jest-environment ./test/platforms/macos/environment.mjs */
// Rights by one spelling of a folder that is stored in another.
import "./as-macos.js";
import { readdirSync } from "node:fs";
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { useGround } from "../../ops/ground.js";
import { bob, delegation, venue } from "../../ucan/tokens.js";

const grantOn = (folder: string) => ({ with: `file://r/${folder}/`, can: "crud" });
const proofOf = (folder: string): string =>
  delegation({ by: venue, claims: { att: [grantOn(folder)], exp: Math.floor(Date.now() / 1000) + 3600 } });
const WAYS: readonly [string, (folder: string) => SurfaceContext][] = [
  ["a caps list", (folder) => ({ caps: [grantOn(folder)] })],
  ["the caps list of a call", (folder) => ({ callCaps: [grantOn(folder)] })],
  ["a UCAN", (folder) => ({ callerDID: bob.did, ucans: [proofOf(folder)] })],
];

const ground = useGround({ operator: venue.did });
const { run, fail } = ground;
const STORED = "Dossi\u00e9s";
const OTHERS = ["dossi\u00e9s", "DOSSI\u00c9S", "Dossie\u0301s"];

beforeEach(() => {
  ground.put(`${STORED}/file`, "content");
  ground.put("free.txt", "free");
});

describe.each(WAYS)("by %s", (_way, held) => {
  test("on the stored name, a path of that name is served", async () => {
    expect(await run("read", { path: `${STORED}/file` }, held(STORED))).toMatchObject({ content: "content" });
    await run("write", { path: `${STORED}/FILE`, content: "new" }, held(STORED));
    expect(ground.get(`${STORED}/file`).toString()).toBe("new");
  });

  test.each(OTHERS)("on the stored name, %j is not covered", async (folder) => {
    for (const path of [`${folder}/file`, `${folder}/none`])
      expect(await fail("read", { path }, held(STORED))).toMatchObject({ code: "CAPABILITY_DENIED" });
  });

  test.each(OTHERS)("on %j nothing of the stored one is shown or changed", async (folder) => {
    const denied = { code: "CAPABILITY_DENIED" };
    const may = held(folder);
    for (const path of [`${folder}/file`, `${folder}/none`]) {
      for (const name of ["read", "stat", "delete", "mkdir", "list"])
        expect([name, await fail(name, { path }, may)]).toMatchObject([name, denied]);
      for (const name of ["write", "append"])
        expect([name, await fail(name, { path, content: "x", parents: true }, may)]).toMatchObject([name, denied]);
    }
    for (const name of ["list", "tree"]) expect(await fail(name, { path: folder }, may)).toMatchObject(denied);
    expect(await fail("grep", { path: folder, pattern: "content" }, may)).toMatchObject(denied);
    expect(await fail("edit", { path: `${folder}/file`, oldText: "content", newText: "x" }, may)).toMatchObject(denied);
    expect(await fail("write", { path: `${folder}/new/deep`, content: "x", parents: true }, may)).toMatchObject(denied);
    const add = `*** Begin Patch\n*** Add File: ${folder}/new\n+x\n*** End Patch\n`;
    expect(await fail("patch", { patch: add }, may)).toMatchObject(denied);
    expect(await fail("move", { path: `${folder}/file`, to: `${folder}/moved` }, may)).toMatchObject(denied);
    expect(await fail("copy", { path: `${folder}/file`, to: `${folder}/copy` }, may)).toMatchObject(denied);
    const { matches = [] } = await run("grep", { pattern: "content" }, may).catch(() => ({ matches: [] }));
    expect(matches).toEqual([]);
    expect(readdirSync(`${ground.dir}/${STORED}`)).toEqual(["file"]);
    expect(ground.get(`${STORED}/file`).toString()).toBe("content");
  });
});
