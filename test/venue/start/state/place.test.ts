import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../../../src/config/load.js";
import type { VenueConfigInput } from "../../../../src/config/types.js";
import type { Log } from "../../../../src/core/ports/log.js";
import { silentLog } from "../../../../src/core/ports/log.js";
import { openAccess } from "../../../../src/venue/identity/open-access.js";
import { openVenue } from "../../../../src/venue/start/open-venue.js";
import { openState, withOwnStateDirs } from "../../../../src/venue/start/state/place.js";
import { configErrorOf } from "../../../config/problems.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "venue-files-test-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const inside = (...names: string[]): string => join(folder, ...names);
const parse = (given: VenueConfigInput) => parseConfig({ port: 0, ...given }, { baseDir: folder });
const state = (given: VenueConfigInput = {}) => parse({ stateDir: "state", ...given });
const open = (config = state(), env = {}) => openState(config, env, "auth.localToken");

function failureOf(run: () => unknown) {
  const error = configErrorOf(run);
  return { exitStatus: error?.exitStatus, problems: error?.problems };
}

describe("the format of a state directory", () => {
  const refused = (fault: string, exitStatus = 78) => ({
    exitStatus,
    problems: [`'stateDir' cannot be used: ${fault}: ${inside("state")}`],
  });

  const NO_NUMBER =
    "its file 'format' holds no number. Write 1 into it, unless a newer version has used this directory";

  test("is the first where its file is empty", () => {
    mkdirSync(inside("state"), { mode: 0o700 });
    writeFileSync(inside("state", "format"), "");
    expect(open()).toBe(inside("state"));
  });

  test("is written when it is opened, and nothing that is there is touched", () => {
    mkdirSync(inside("state"), { mode: 0o700 });
    writeFileSync(inside("state", "revocations"), "did:web:gone\n");
    expect(open()).toBe(inside("state"));
    expect(readFileSync(inside("state", "format"), "utf8")).toBe("1\n");
    expect(readFileSync(inside("state", "revocations"), "utf8")).toBe("did:web:gone\n");
    expect(open()).toBe(inside("state"));
  });

  test.each([
    ["2\n", "it is of format 2, and this version knows 1. Use a newer version"],
    ["1>2\n", "it is on the way to format 2, and this version knows 1. Use a newer version"],
    ["999999999", "it is of format 999999999, and this version knows 1. Use a newer version"],
    ["0\n", NO_NUMBER],
    ["1.5\n", NO_NUMBER],
    ["\0", NO_NUMBER],
    ["1".repeat(17), "its file 'format' cannot be read: it is too long"],
  ])("is not believed when it is %j", (content, fault) => {
    mkdirSync(inside("state"), { mode: 0o700 });
    writeFileSync(inside("state", "format"), content);
    expect(failureOf(() => open())).toEqual(refused(fault));
    // Also by who only reads there: what is revoked may stand elsewhere in a newer one.
    const reader = state({ auth: { localToken: false } });
    expect(failureOf(() => openAccess(reader, { env: {}, log: silentLog, url: () => "" }))).toEqual(refused(fault));
    expect(readFileSync(inside("state", "format"), "utf8")).toBe(content);
  });
});

describe("without a state directory", () => {
  const none = (given: VenueConfigInput = {}) => parse({ stateDir: false, ...given });

  test("a key that needs it is refused", () => {
    const s3 = { bucket: "drives" } as const;
    const error = () => none({ seed: "01".repeat(32), auth: { localToken: true }, drives: { store: { s3 } } });
    expect(failureOf(error)).toEqual({
      exitStatus: 78,
      problems: [
        "'auth.localToken' needs a state directory, but 'stateDir' is false",
        "'drives.store.s3' needs a state directory, but 'stateDir' is false",
      ],
    });
    expect(failureOf(() => open(none()))).toEqual({
      exitStatus: 78,
      problems: ["'auth.localToken' needs 'stateDir', which is false"],
    });
  });

  test("a venue runs with a passing identity, of which it warns once, and drives in memory", async () => {
    const roots = { mine: { dlfs: "mine" } };
    expect(none({ file: { roots } }).warnings).toEqual([
      `Drives are kept in memory and will not survive: set 'drives.store' to a path, or to "memory" if that is meant`,
      "The identity of this venue ends with its process: set 'seed' or 'seedFile' to keep one",
    ]);
    const config = none({ seed: "01".repeat(32), drives: { store: "memory" }, file: { roots } });
    expect(config.warnings).toEqual([]);
    const env = { VENUE_FILES_STATE_DIR: inside("env"), HOME: inside("home") };
    const venue = await openVenue(config, { listens: true, env, log: silentLog });
    try {
      expect(venue.access.localToken).toBeUndefined();
      await expect(venue.access.revocations.add(["did:web:gone"])).rejects.toThrow(
        "There is no revocation list: 'stateDir' is false. Set 'auth.ucan.revocations' to a file",
      );
    } finally {
      await venue.close();
    }
    expect([existsSync(inside("env")), existsSync(inside("home"))]).toEqual([false, false]);
  });
});

test("a state directory that nothing needs is not made", async () => {
  writeFileSync(inside("revoked"), "");
  const auth = { localToken: false, ucan: { revocations: "revoked" } };
  const config = state({ auth, seed: "01".repeat(32), drives: { store: "memory" } });
  const venue = await openVenue(config, { listens: true, env: {}, log: silentLog });
  await venue.close();
  expect(existsSync(inside("state"))).toBe(false);
});

describe("several venues of a process", () => {
  const dirs = (...venues: VenueConfigInput[]) =>
    withOwnStateDirs(venues.map(parse), { VENUE_FILES_STATE_DIR: "/env" }).map(({ stateDir }) => stateDir);

  test("have each a state directory of their own, and one alone has the whole", () => {
    expect(dirs({ name: "a" })).toEqual([undefined]);
    expect(dirs({ name: "a", stateDir: "s" })).toEqual([inside("s")]);
    expect(dirs({ name: "a" }, { name: "b" })).toEqual(["/env/a", "/env/b"]);
    expect(dirs({ name: "a" }, { name: "a", stateDir: "s" }, { stateDir: false })).toEqual([
      "/env/a",
      inside("s/a"),
      false,
    ]);
  });

  test.each([
    ["../up", "%2E.%2Fup"],
    ["..", "%2E%2E"],
    [".", "%2E"],
    ["a/b\\c", "a%2Fb%5Cc"],
    ["100%", "100%25"],
    ["Ümläut 2", "Ümläut 2"],
    ["end. ", "end.%20"],
    ["a\0b", "a%00b"],
  ])("never have one elsewhere: %j", (name, own) => {
    expect(dirs({ name }, { name: "other" })[0]).toBe(`/env/${own}`);
  });

  test("cannot have the same", () => {
    const advice = (second: number) => `Set 'venues[${second}].name' or 'venues[${second}].stateDir' to another`;
    expect(failureOf(() => dirs({}, {}, { name: "x" }, { name: "X" }, { stateDir: "/env" }))).toEqual({
      exitStatus: 78,
      problems: [
        `'venues[0]' and 'venues[1]' have the same name and the same 'stateDir'. ${advice(1)}`,
        `'venues[2]' and 'venues[3]' have the same name and the same 'stateDir'. ${advice(3)}`,
        `'venues[0]' and 'venues[4]' have the same name and the same 'stateDir'. ${advice(4)}`,
      ],
    });
    expect(failureOf(() => dirs({ name: "a" }, { name: "Keys" })).problems).toEqual([
      "'venues[1].name' must not be 'Keys': 'stateDir' has something else of that name",
    ]);
  });

  const both = () =>
    withOwnStateDirs(
      ["a", "b"].map((name) => state({ name })),
      {},
    );

  test("share neither the operator's token nor the revocation list", async () => {
    const warnings: string[] = [];
    const log: Log = { ...silentLog, warn: (_fields, text) => void warnings.push(text) };
    mkdirSync(inside("state"), { mode: 0o700 });
    writeFileSync(inside("state", "revocations"), "did:web:old\n");
    const [a, b] = both().map((config) => openAccess(config, { env: {}, log, url: () => "" }));
    if (a === undefined || b === undefined) throw new Error("There are two");
    expect(a.localToken).not.toBe(b.localToken);
    expect(b.authenticate(`Bearer ${a.localToken}`)).toEqual({ refused: "invalid_token" });
    await a.revocations.add(["did:web:gone"]);
    expect([a.revocations.has("did:web:gone"), b.revocations.has("did:web:gone")]).toEqual([true, false]);
    expect(readFileSync(inside("state", "revocations"), "utf8")).toBe("did:web:old\n");
    for (const place of [[], ["a"], ["b"]]) {
      expect(readFileSync(inside("state", ...place, "format"), "utf8")).toBe("1\n");
    }
    const list = inside("state", "revocations");
    expect(warnings).toEqual(
      ["a", "b"].map((name) => {
        const own = inside("state", name, "revocations");
        return `This venue does not follow ${list} any more. Copy it to ${own} if it should`;
      }),
    );
  });

  test("do not trust a folder above theirs that others may write", () => {
    mkdirSync(inside("state"));
    chmodSync(inside("state"), 0o777);
    const [a] = both();
    expect(failureOf(() => open(a)).problems).toEqual([
      `'stateDir' cannot be used: others may write in it: ${inside("state")}`,
    ]);
  });
});
