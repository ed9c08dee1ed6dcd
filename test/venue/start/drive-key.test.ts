import { afterEach, describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../../src/config/load.js";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { silentLog } from "../../../src/core/ports/log.js";
import { type OpenVenue, openVenue } from "../../../src/venue/start/open-venue.js";
import { failureOf } from "../../ops/ground.js";

const ALICE: SurfaceContext = { callerDID: "did:key:z6MkAlice", authentication: "identity" };
const BOB: SurfaceContext = { callerDID: "did:key:z6MkBob", authentication: "identity" };

let open: OpenVenue | undefined;

afterEach(async () => {
  await open?.close();
  open = undefined;
});

async function venueOf(drives: object): Promise<OpenVenue> {
  const config = parseConfig({ port: 0, drives: { store: "memory", ...drives } }, { baseDir: "/" });
  open = await openVenue(config, { listens: true, env: {}, log: silentLog });
  return open;
}

const submit = (venue: OpenVenue, operation: string, input: object, context: SurfaceContext = ALICE) =>
  venue.host.submit({ operation, input, caller: context.callerDID ?? "", context });

const write = (venue: OpenVenue, who: SurfaceContext) =>
  submit(venue, "dlfs:write", { drive: "notes", path: "a", content: "x" }, who).result;

describe("drive:export-key", () => {
  test("is not there unless the operator allows it", async () => {
    const venue = await venueOf({});
    const ask = async () => submit(venue, "drive:export-key", {}).result;
    expect((await failureOf(ask())).code).toBe("UNKNOWN_OPERATION");
  });

  test("gives each caller the key of its own, in the answer and in no record", async () => {
    const venue = await venueOf({ allowKeyExport: true });
    expect((await failureOf(submit(venue, "drive:export-key", {}).result)).code).toBe("NOT_FOUND");
    for (const who of [ALICE, BOB]) await write(venue, who);
    const job = submit(venue, "drive:export-key", {});
    const { output } = await job.settled(10_000);
    expect(output).toEqual({
      publicKey: expect.stringMatching(/^[0-9a-f]{64}$/),
      seed: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(job.record().output).toMatchObject({ seed: "HIDDEN" });
    expect(await job.result).toBeUndefined();
    const other = await submit(venue, "drive:export-key", {}, BOB).result;
    expect(other).not.toEqual(output);
    expect((await failureOf(submit(venue, "drive:export-key", { owner: ALICE.callerDID }, BOB).result)).code).toBe(
      "INVALID_INPUT",
    );
  });

  test.each(["crud/read", "crud/write", "crud/delete"])("needs %s on all drives", async (can) => {
    const venue = await venueOf({ allowKeyExport: true });
    await write(venue, ALICE);
    const others = ["crud/read", "crud/write", "crud/delete"].filter((other) => other !== can);
    const caps = others.map((other) => ({ with: "dlfs://", can: other }));
    expect((await failureOf(submit(venue, "drive:export-key", {}, { ...ALICE, caps }).result)).code).toBe(
      "CAPABILITY_DENIED",
    );
  });
});
