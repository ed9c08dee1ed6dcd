import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../../../src/config/load.js";
import { silentLog } from "../../../../src/core/ports/log.js";
import { ConfigError, createVenue, type Venue, type VenueConfigInput } from "../../../../src/index.js";
import { openVenue } from "../../../../src/venue/start/open-venue.js";

const SEED = "11".repeat(32);
let folder: string;
const venues: Venue[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "venue-files-test-"));
});
afterEach(async () => {
  await Promise.all(venues.splice(0).map((venue) => venue.close()));
  rmSync(folder, { recursive: true });
});

async function open(config: VenueConfigInput = {}, env: Record<string, string> = {}): Promise<Venue> {
  const given = { port: 0, seed: SEED, stateDir: "state", ...config };
  const venue = await createVenue(given, { baseDir: folder, env });
  venues.push(venue);
  return venue;
}

async function refusalOf(opening: Promise<Venue>): Promise<unknown> {
  const error = await opening.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConfigError)) throw new Error("It was not refused as a mistake of the configuration");
  return { exitStatus: error.exitStatus, problems: error.problems };
}

const shared = (path: string) => ({
  exitStatus: 78,
  problems: [
    "'stateDir' cannot be used: another venue of this process has it, and would share its local token and revocation " +
      `list: ${path}. Give this one a 'stateDir' of its own, or close the other first`,
  ],
});

describe("two venues in one process", () => {
  test("never share a state directory, whoever names it in whichever way", async () => {
    const first = await open();
    const token = first.localToken;
    expect(token).toHaveLength(43);
    const state = join(folder, "state");
    symlinkSync("state", join(folder, "link"));
    expect(await refusalOf(open())).toEqual(shared(state));
    expect(await refusalOf(open({ name: "other" }))).toEqual(shared(state));
    expect(await refusalOf(open({ stateDir: "./x/../state/" }))).toEqual(shared(state));
    expect(await refusalOf(open({ stateDir: "link" }))).toEqual(shared(join(folder, "link")));
    const { stateDir: _none, ...byEnvironment } = { port: 0, seed: SEED, stateDir: "" };
    const opening = createVenue(byEnvironment, { baseDir: folder, env: { VENUE_FILES_STATE_DIR: state } });
    expect(await refusalOf(opening)).toEqual(shared(state));
    // One that takes no token from it, but the list, would share that.
    expect(await refusalOf(open({ auth: { localToken: false } }))).toEqual(shared(state));
    const second = await open({ stateDir: "state/second" });
    expect(second.localToken).toHaveLength(43);
    expect(second.localToken).not.toBe(token);
  });

  test("may have the same one after the other, also after a start that failed", async () => {
    writeFileSync(join(folder, "file"), "");
    const first = await open();
    await first.close();
    await expect(open({ audit: { file: "file/audit.jsonl" } })).rejects.toThrow("'audit.file' cannot be opened");
    const second = await open();
    expect(second.localToken).toBe(first.localToken);
    await first.close();
    expect(await refusalOf(open())).toEqual(shared(join(folder, "state")));
  });

  test("may name one that neither token nor list is taken from, or none", async () => {
    writeFileSync(join(folder, "revoked"), "");
    const elsewhere = { auth: { localToken: false, ucan: { revocations: "revoked" } } };
    await open();
    await open(elsewhere);
    await open(elsewhere);
    await open({ stateDir: false });
    await open({ stateDir: false });
    expect(venues.map(({ localToken }) => localToken !== undefined)).toEqual([true, false, false, false, false]);
  });

  test("do not keep commands from reading there that serve nothing", async () => {
    await open();
    const config = parseConfig({ seed: SEED, stateDir: "state" }, { baseDir: folder });
    const options = { env: {}, log: silentLog };
    const calling = await openVenue(config, { ...options, listens: false });
    const reading = await openVenue(config, { ...options, listens: false, filesOnly: true });
    expect([calling.access.revocations.size, reading.access.localToken]).toEqual([0, undefined]);
    await Promise.all([calling.close(), reading.close()]);
  });
});
