import { rm, truncate } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { assembleAdapter, type FileAdapter } from "../../../src/adapter/adapter.js";
import { parseFileConfig } from "../../../src/config/load.js";
import { silentLog } from "../../../src/core/ports/log.js";
import type { VenueAssets } from "../../../src/venue/assets/assets.js";
import { openAssetFiles } from "../../../src/venue/assets/files.js";
import { ALICE, assetsOf, body, DID, freshPath, removePaths, sha256, wanting } from "./fixture.js";

const CONTENT = "content ".repeat(1_500_000);
const UNKNOWN = "0".repeat(64);

let path: string;
let assets: VenueAssets;
let adapter: FileAdapter;
let id: string;
const failures: unknown[] = [];
beforeAll(async () => {
  path = await freshPath();
  const store = await openAssetFiles({ path, log: silentLog });
  assets = await assetsOf({ store, maxTotalBytes: 100_000_000, maxContentSize: 50_000_000 });
  adapter = await assembleAdapter(parseFileConfig({ roots: { tmp: { temp: true } } }, { baseDir: path }), {
    discloseHostPaths: true,
    onInternalError: (error) => failures.push(error),
  });
  id = await assets.register(wanting(CONTENT), ALICE);
  await assets.putContent(id, body(CONTENT), ALICE);
});
afterAll(async () => {
  await adapter.close();
  await assets.close();
  await removePaths();
});

const write = (asset: string, name = "target"): Promise<unknown> =>
  adapter.invoke("file:write", { root: "tmp", path: name, asset }, { resolveAsset: assets.resolve });
const read = async (): Promise<unknown> => adapter.invoke("file:stat", { root: "tmp", path: "target" });

describe("file:write from an asset of the venue", () => {
  test("takes every form of a reference, and content larger than a write may otherwise be", async () => {
    for (const reference of [id, `0x${id}`, `a/${id}`, `/a/${id}`, `${DID}/a/${id.toUpperCase()}`]) {
      expect(await write(reference)).toMatchObject({ written: CONTENT.length });
    }
    expect(await read()).toMatchObject({ size: CONTENT.length });
  });

  test.each(["nonsense", UNKNOWN, `did:key:zOther/a/${UNKNOWN}`])("finds no asset %s", async (reference) => {
    await expect(write(reference)).rejects.toMatchObject({ code: "ASSET_NOT_FOUND" });
  });

  test("finds no content where there is none", async () => {
    const [empty, operation] = [
      await assets.register(wanting("never sent"), ALICE),
      assets.registerOperation({ name: "op" }),
    ];
    for (const asset of [empty, operation]) {
      await expect(write(asset)).rejects.toMatchObject({ code: "ASSET_NO_CONTENT" });
    }
  });

  test("whose content was damaged or lost is no fault of the target, which stays as it was", async () => {
    await write(id);
    const hash = sha256(CONTENT);
    const file = join(path, "content", hash.slice(0, 2), hash);
    await truncate(file, 5000);
    await expect(write(id)).rejects.toMatchObject({ code: "INTERNAL" });
    await rm(file);
    await expect(write(id)).rejects.toMatchObject({ code: "INTERNAL" });
    expect(await read()).toMatchObject({ size: CONTENT.length });
    expect(failures.length).toBe(2);
  });
});
