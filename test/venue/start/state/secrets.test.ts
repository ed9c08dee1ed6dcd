import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../../../src/config/load.js";
import type { VenueConfigInput } from "../../../../src/config/types.js";
import { checkSecretsOutside } from "../../../../src/venue/start/state/secrets.js";

let base: string;
beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
  mkdirSync(join(base, "docs/sub"), { recursive: true });
  mkdirSync(join(base, "home/.local/state"), { recursive: true });
  writeFileSync(join(base, "elsewhere.seed"), "");
  symlinkSync(join(base, "elsewhere.seed"), join(base, "docs/seed"));
  symlinkSync(join(base, "docs"), join(base, "way-in"));
  symlinkSync(join(base, "docs"), join(base, "other-name"));
  symlinkSync("docs/not-yet", join(base, "audit-link"));
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

const token = { name: "ci", caps: [] };
const check = (config: VenueConfigInput, root = "docs") =>
  checkSecretsOutside(
    parseConfig({ file: { roots: { r: root, tmp: { temp: true } } }, ...config }, { baseDir: base }),
    {
      HOME: join(base, "home"),
    },
  );

const BECOME = "whose readers could act as this venue or its operator";

describe("a root with a secret of the venue in it is refused:", () => {
  test.each<[string, VenueConfigInput, string, string]>([
    ["the seed", { seedFile: "docs/sub/venue.seed" }, "seedFile", BECOME],
    ["the name of the seed, which is a link", { seedFile: "docs/seed" }, "seedFile", BECOME],
    ["the state directory", { stateDir: "docs/state/not/yet/there" }, "stateDir", BECOME],
    ["the state directory, which is the root", { stateDir: "docs" }, "stateDir", BECOME],
    ["a way to it by a link", { stateDir: "way-in/state" }, "stateDir", BECOME],
    [
      "the file of a token",
      { auth: { tokens: [{ ...token, token: { file: "docs/ci.token" } }] } },
      "auth.tokens[0].token.file",
      BECOME,
    ],
    [
      "stored assets",
      { storage: { content: "file", path: "docs/assets" } },
      "storage.path",
      "whose writers could change what assets hold",
    ],
    ["the audit", { audit: { file: "docs/audit.jsonl" } }, "audit.file", "whose writers could change what it records"],
    [
      "the audit, which a link makes there",
      { audit: { file: "audit-link" } },
      "audit.file",
      "whose writers could change what it records",
    ],
    ["the log", { log: { file: "docs/sub/log" } }, "log.file", "whose writers could change what it records"],
    [
      "the revocation list",
      { auth: { ucan: { revocations: "docs/revoked.txt" } } },
      "auth.ucan.revocations",
      "whose writers could take revocations back",
    ],
  ])("%s", (_what, config, key, danger) => {
    expect(() => check(config)).toThrow(`'${key}' lies inside root 'r', ${danger}. Choose a place outside`);
    expect(() => check(config, "other-name")).toThrow(`'${key}' lies inside root 'r'`);
  });

  test("the URL of the database that instances share", () => {
    const config: VenueConfigInput = {
      ...{ seed: "ab".repeat(32), drives: { store: { s3: { bucket: "drives" } } } },
      storage: { content: "s3", s3: { bucket: "drives" } },
      file: { roots: { r: { path: "docs", shared: true } } },
      shared: { postgres: { url: { file: "docs/url" } } },
    };
    const danger = "whose readers could reach what the instances of this venue share";
    expect(() => check(config)).toThrow(`'shared.postgres.url.file' lies inside root 'r', ${danger}`);
  });

  test("the state directory nobody wrote down, whatever it is used for", () => {
    expect(() => check({}, "home")).toThrow("'stateDir' lies inside root 'r'");
    expect(() => check({ auth: { localToken: false } }, "home")).toThrow("'stateDir' lies inside root 'r'");
  });
});

test.each<[string, VenueConfigInput]>([
  [
    "elsewhere",
    {
      seedFile: "venue.seed",
      stateDir: "state",
      storage: { content: "file", path: "assets" },
      audit: { file: "audit.jsonl" },
      log: { file: "docs.log" },
      auth: { ucan: { revocations: "revoked.txt" } },
    },
  ],
  ["in a directory whose name starts alike", { seedFile: "docs2/venue.seed", stateDir: "docs-state" }],
])("secrets %s are no problem", (_where, config) => {
  expect(() => check(config)).not.toThrow();
});
