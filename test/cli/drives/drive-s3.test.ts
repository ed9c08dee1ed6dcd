import { chmodSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { BUCKET, CREDENTIALS, type FakeS3, REGION, startFakeS3 } from "../../drive/store/s3/fake-s3.js";
import { cleanUp, type Finished, makeFolder, run } from "../process.js";

jest.setTimeout(120_000);

let fake: FakeS3;
let folder = "";

beforeEach(async () => {
  fake = await startFakeS3();
  const config = {
    port: 0,
    seedFile: "venue.seed",
    stateDir: "state",
    drives: { store: { s3: { bucket: BUCKET, endpoint: fake.endpoint, region: REGION } } },
    file: { roots: { mine: { dlfs: "notes" } } },
  };
  folder = makeFolder({
    "venue.seed": `${"01".repeat(32)}\n`,
    "alice.key": `${"a1".repeat(32)}\n`,
    "venue.json5": JSON.stringify(config),
  });
  for (const name of ["venue.seed", "alice.key"]) chmodSync(join(folder, name), 0o600);
});

afterEach(() => fake.close());
afterAll(cleanUp);

function here(...args: string[]): Promise<Finished> {
  const env = { AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId, AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey };
  return run([...args, "--config", "venue.json5"], { cwd: folder, tmp: folder, env });
}

const write = (path: string): Promise<Finished> =>
  here("call", "file:write", JSON.stringify({ root: "mine", path, content: path }), "--key", "./alice.key");

/** As a venue does that finds the bucket in this mode. */
async function inMode(mode: "conditional" | "merge", work: () => Promise<Finished>): Promise<Finished> {
  fake.objects.set("mode", { bytes: Buffer.from(`${mode}\n`), at: fake.now() });
  return work();
}

describe("venues that share a bucket by conditional puts", () => {
  test("have no place for one whose requests lose their conditions: it does not start", async () => {
    expect(await write("a")).toMatchObject({ status: 0 });
    fake.isConditional = false;
    expect(await here("serve")).toMatchObject({
      status: 78,
      stderr: expect.stringContaining("reach the object storage without what ignores them"),
    });
  });

  test("are told by drive verify when one of an older version has written later", async () => {
    expect(await inMode("conditional", () => write("a"))).toMatchObject({ status: 0 });
    const verify = () => inMode("conditional", () => here("drive", "verify", "--key", "./alice.key"));
    expect(await verify()).toMatchObject({ status: 0, stderr: "" });
    expect(await inMode("merge", () => write("b"))).toMatchObject({ status: 0 });
    const warning = /^Warning: an older venue wrote on its own, last found at 2\d{3}-\d\d-\d\dT\S+Z, /;
    const told = { status: 0, stderr: expect.stringMatching(warning), stdout: expect.stringContaining("2 files") };
    expect(await verify()).toMatchObject(told);
    // And when that has become part of the one root.
    expect(await inMode("conditional", () => write("c"))).toMatchObject({ status: 0 });
    expect(await verify()).toMatchObject({ ...told, stdout: expect.stringContaining("3 files") });
  });
});
