import { expect, test } from "@jest/globals";
import * as drive from "../../src/drive/index.js";

const NAMES =
  "encode hashOf isEmbedded decode materialize toMultiCell fromMultiCell keyword map index dir file tombstone checkNode sign " +
  "signedMessage verify applyOp deleteDrive createDrive isDeletedDrive merge mergeDrives mergeOwners";

test("the public module has all functions of drives", () => {
  expect(Object.keys(drive)).toEqual(expect.arrayContaining(NAMES.split(" ")));
});

test("a drive is made, changed, signed, moved as bytes, verified and read", () => {
  const seed = new Uint8Array(32).fill(3);
  const empty = drive.createDrive(null, { at: 5 });
  const root = drive.applyOp(empty, { op: "write", path: "/hello.txt", data: new Uint8Array(5000), at: 6 });
  const signed = drive.sign(drive.map([["docs", root]]), seed);
  const moved = drive.fromMultiCell(drive.toMultiCell(signed));
  expect(moved).toBeInstanceOf(drive.Signed);
  if (!(moved instanceof drive.Signed) || !(moved.value instanceof drive.CadMap)) return;
  expect(drive.verify(moved)).toBe(true);
  const back = moved.value.get("docs") ?? null;
  drive.checkNode(back);
  expect(drive.hashOf(back)).toBe(drive.hashOf(root));
  expect(drive.hashOf(root)).toBe(drive.hashOf(drive.dir([["hello.txt", drive.file(new Uint8Array(5000), 6)]], 6)));
});
