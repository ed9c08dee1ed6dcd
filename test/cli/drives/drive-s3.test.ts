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

describe("venues that share a bucket by conditional puts", () => {
  test("have no place for one whose requests lose their conditions: it does not start", async () => {
    expect(await write("a")).toMatchObject({ status: 0 });
    fake.isConditional = false;
    expect(await here("serve")).toMatchObject({
      status: 78,
      stderr: expect.stringContaining("reach the object storage without what ignores them"),
    });
  });

  test("have none for one that finds roots of an older version, and it is told the way out", async () => {
    fake.objects.set("mode", { bytes: Buffer.from("merge\n"), at: fake.now() });
    for (const args of [["serve"], ["drive", "verify", "--key", "./alice.key"]])
      expect(await here(...args)).toMatchObject({
        status: 78,
        stderr: expect.stringContaining(
          "With the version that wrote them run 'venue-files drive export' for each user",
        ),
      });
  });
});
