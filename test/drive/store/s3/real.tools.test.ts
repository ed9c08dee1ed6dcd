import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, jest } from "@jest/globals";
import { openObjectStore } from "../../../../src/drive/store/s3/open-object-store.js";
import { needs } from "../../../needs.js";
import { ALICE, openEngine } from "../../engine/engines.js";

jest.setTimeout(120_000);

const { S3_TEST_ENDPOINT: endpoint, S3_TEST_BUCKET: bucket = "drives", AWS_REGION: region = "us-east-1" } = process.env;
const { AWS_ACCESS_KEY_ID: accessKeyId = "", AWS_SECRET_ACCESS_KEY: secretAccessKey = "" } = process.env;
const CHILD = new URL("writer-child.mjs", import.meta.url);
const BUILT = new URL("../../../../dist/drive/store/s3/open-object-store.js", import.meta.url);
const possible = endpoint !== undefined && existsSync(BUILT);
const test = needs(possible, "no S3 server is named by S3_TEST_ENDPOINT (npm run test:tools starts one)");

/** How many acknowledged writes the child is left. */
const ENOUGH = 12;

test("of two venues on a real S3 server one is killed, and nothing it has acknowledged is lost", async () => {
  const folder = mkdtempSync(join(tmpdir(), "vf-real-"));
  const place = {
    bucket,
    endpoint,
    region,
    prefix: `test-${randomUUID()}`,
    credentials: { accessKeyId, secretAccessKey },
  };
  const store = await openObjectStore({ ...place, cachePath: join(folder, "own") });
  const clock = { nowMs: Date.now, monotonicMs: () => performance.now() };
  const engine = openEngine({ store, clock });
  let child: ChildProcess | undefined;
  try {
    const owner = engine.owner(ALICE);
    await owner.change("notes", (draft) => draft.writeFile(["own-first"], new Uint8Array(10)));
    const options = JSON.stringify({ ...place, cachePath: join(folder, "child"), did: ALICE });
    const other = spawn(process.execPath, [CHILD.pathname, options], { stdio: ["ignore", "pipe", "inherit"] });
    child = other;
    const acknowledged: string[] = [];
    for await (const line of createInterface({ input: other.stdout })) {
      acknowledged.push(line);
      if (acknowledged.length % 4 === 0)
        await owner.change("notes", (draft) => draft.writeFile([`own-${line}`], new Uint8Array(100_000)));
      if (acknowledged.length >= ENOUGH) other.kill("SIGKILL");
    }
    await owner.change("notes", (draft) => draft.writeFile(["own-last"], new Uint8Array(10)));
    const read = await owner.read("notes");
    const names = (await read.entries([])).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["own-first", "own-last", ...acknowledged]));
    for (const name of names.filter((one) => one.startsWith("child-"))) {
      const at = Number(name.slice(6));
      const { bytes } = await read.readFile([name], 0, 1 << 20);
      expect(bytes).toEqual(Buffer.alloc(at % 5 === 0 ? 200_000 : 100, at));
    }
    read.release();
    expect(await store.collect({ graceMs: 86_400_000 })).toMatchObject({ missing: 0, removed: 0 });
  } finally {
    child?.kill("SIGKILL");
    await engine.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
