import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../src/config/load.js";
import type { VenueConfigInput } from "../../src/config/types.js";
import { checkSecretsOutside } from "../../src/venue/secrets.js";

let base: string;
beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
  mkdirSync(join(base, "docs/sub"), { recursive: true });
  mkdirSync(join(base, "home/.local/state"), { recursive: true });
  symlinkSync(join(base, "docs"), join(base, "way-in"));
  symlinkSync(join(base, "docs"), join(base, "other-name"));
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

describe("a root with a secret of the venue in it is refused:", () => {
  test.each<[string, VenueConfigInput, string]>([
    ["the seed", { seedFile: "docs/sub/venue.seed" }, "seedFile"],
    ["the state directory", { stateDir: "docs/state/not/yet/there" }, "stateDir"],
    ["the state directory, which is the root", { stateDir: "docs" }, "stateDir"],
    ["a way to it by a link", { stateDir: "way-in/state" }, "stateDir"],
    [
      "the file of a token",
      { auth: { tokens: [{ ...token, token: { file: "docs/ci.token" } }] } },
      "auth.tokens[0].token.file",
    ],
    ["stored assets", { storage: { content: "file", path: "docs/assets" } }, "storage.path"],
  ])("%s", (_what, config, key) => {
    expect(() => check(config)).toThrow(
      `'${key}' lies inside root 'r', whose readers could act as this venue or its operator. Choose a place outside`,
    );
    expect(() => check(config, "other-name")).toThrow(`'${key}' lies inside root 'r'`);
  });

  test("the state directory nobody wrote down", () => {
    expect(() => check({}, "home")).toThrow("'stateDir' lies inside root 'r'");
    expect(() => check({ auth: { localToken: false } }, "home")).not.toThrow();
  });
});

test.each<[string, VenueConfigInput]>([
  ["elsewhere", { seedFile: "venue.seed", stateDir: "state", storage: { content: "file", path: "assets" } }],
  ["in a directory whose name starts alike", { seedFile: "docs2/venue.seed", stateDir: "docs-state" }],
])("secrets %s are no problem", (_where, config) => {
  expect(() => check(config)).not.toThrow();
});
