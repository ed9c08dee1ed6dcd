import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { systemClock } from "../../../src/core/clock.js";
import { mintIdentity } from "../../../src/ucan/mint/claims.js";
import { decodeToken } from "../../../src/ucan/token/decode.js";
import { tokenId } from "../../../src/ucan/token/id.js";
import { did, makeGround, PEOPLE, secretsIn, tokenOf } from "../people.js";
import { cleanUp, serve } from "../process.js";

afterAll(cleanUp);

function idOf(token: string): string {
  const decoded = decodeToken(token);
  return "fault" in decoded ? "" : tokenId(decoded.signedText);
}

const LIST = ".local/state/venue-files/revocations";
const OTHER = "z6-".repeat(14).concat("A");

describe("revoke", () => {
  test("writes ids and DIDs into the list of the configuration, once", async () => {
    const { folder, venueFiles } = makeGround();
    const path = join(folder, LIST);
    const follows = `The list is ${path}; a venue that runs with this configuration follows it\n`;
    expect(await venueFiles(["revoke", OTHER, did("bob"), "--config", "venue.json5"])).toEqual({
      status: 0,
      signal: null,
      stdout: `${OTHER} is revoked\n${did("bob")} is revoked\n`,
      stderr: follows,
    });
    expect(readFileSync(path, "utf8")).toBe(`${OTHER}\n${did("bob")}\n`);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const again = await venueFiles(["revoke", OTHER, OTHER, "--config", "venue.json5"]);
    expect(again).toMatchObject({ status: 0, stdout: `${OTHER} was revoked already\n` });
    expect(readFileSync(path, "utf8")).toBe(`${OTHER}\n${did("bob")}\n`);
  });

  test("takes the ids of tokens in a file, whoever signed them", async () => {
    const { folder, venueFiles } = makeGround({ "c.json5": "{ auth: { ucan: { revocations: 'gone.txt' } } }" });
    const tokens = [await tokenOf("alice", "bob"), await tokenOf("carol", "bob")];
    writeFileSync(join(folder, "some.ucan"), tokens.join("\n"));
    const { status, stdout, stderr } = await venueFiles(["revoke", "--token", "some.ucan", "--config", "c.json5"]);
    expect(status).toBe(0);
    expect(stdout).toBe(tokens.map((token) => `${idOf(token)} is revoked\n`).join(""));
    // It was configured, and not there yet.
    expect(readFileSync(join(folder, "gone.txt"), "utf8")).toBe(tokens.map((token) => `${idOf(token)}\n`).join(""));
    expect(secretsIn(stdout + stderr)).toEqual([]);
  });

  test("is followed at once by a venue that runs, down to what rests on the token", async () => {
    const { folder, venueFiles } = makeGround();
    const served = await serve(["--config", "venue.json5"], { cwd: folder, tmp: folder });
    const first = await tokenOf("alice", "bob");
    const ucans = [await tokenOf("bob", "carol", { proofs: [first] })];
    const bearer = mintIdentity({ key: PEOPLE.carol, audience: did("venue"), clock: systemClock });
    const read = async () => {
      const body = JSON.stringify({ operation: "file:stat", input: { root: "docs", path: "reports/q3.md" }, ucans });
      const headers = { "content-type": "application/json", authorization: `Bearer ${bearer}` };
      const response = await fetch(`${served.url}/api/v1/invoke`, { method: "POST", headers, body });
      return (await response.json()) as Record<string, unknown>;
    };
    expect(await read()).toMatchObject({ status: "COMPLETE", output: { exists: true } });
    await venueFiles(["revoke", idOf(first), "--config", "venue.json5"]);
    expect(await read()).toMatchObject({ status: "FAILED", errorData: { reasons: ["revoked"] } });
    expect((await served.stop()).status).toBe(0);
  });

  test("takes a list that was cut as it is only when told so, and adds to it all the same", async () => {
    const { folder, venueFiles } = makeGround();
    const on = ["--config", "venue.json5"];
    await venueFiles(["revoke", OTHER, did("bob"), ...on]);
    writeFileSync(join(folder, LIST), `${OTHER}\n`);
    const refusal =
      /lacks 1 of the 2 entries in force: .*revocations\. Put them back, or .*: (venue-files revoke --accept-list) --config FILE/;
    const check = await venueFiles(["check", ...on]);
    expect(check).toMatchObject({ status: 78, stderr: expect.stringMatching(refusal) });
    expect((await venueFiles(["revoke", did("carol"), ...on])).status).toBe(0);
    expect((await venueFiles(["check", ...on])).status).toBe(78);
    const accepted = await venueFiles(["revoke", "--accept-list", ...on]);
    expect(accepted).toMatchObject({ status: 0, stdout: "The list is taken as it is, with 2 entries\n" });
    expect((await venueFiles(["check", ...on])).status).toBe(0);
    expect(readFileSync(join(folder, LIST), "utf8")).toBe(`${OTHER}\n${did("carol")}\n`);
    // With an id as well.
    writeFileSync(join(folder, LIST), `${OTHER}\n`);
    const both = await venueFiles(["revoke", did("bob"), "--accept-list", ...on]);
    expect(both).toMatchObject({
      ...{ status: 0, stdout: `${did("bob")} is revoked\nThe list is taken as it is, with 2 entries\n` },
    });
    expect((await venueFiles(["check", ...on])).status).toBe(0);
  });

  test.each<[string, string[], number, string | RegExp]>([
    [
      "what is no id",
      ["abc"],
      64,
      /^'abc' is neither the id of a token \(43 characters, see: token inspect\) nor a DID\n/,
    ],
    ["a comment in place of an id", ["#"], 64, /^'#' is neither/],
    ["an id that no hash is", ["z6-".repeat(14).concat("B")], 64, /is neither/],
    [
      "a token that cannot be read",
      ["--token", "odd.ucan"],
      78,
      /^--token leads to a token that cannot be read\. Give its id instead\n$/,
    ],
    [
      "a list with a slip in it",
      [OTHER, "--config", "slip.json5"],
      78,
      /^'auth\.ucan\.revocations' cannot be used: line 2 is neither/,
    ],
  ])("refuses %s, and then nothing is revoked", async (_name, args, status, stderr) => {
    const { folder, venueFiles } = makeGround({
      "odd.ucan": "eyJh.eyJh.c2ln",
      "slip.json5": "{ auth: { ucan: { revocations: 'slip.txt' } } }",
      "slip.txt": "# ours\nslip\n",
    });
    const config = args.includes("--config") ? [] : ["--config", "venue.json5"];
    const result = await venueFiles(["revoke", ...args, ...config]);
    expect(result).toMatchObject({ status, stdout: "", stderr: expect.stringMatching(stderr) });
    expect(() => statSync(join(folder, LIST))).toThrow();
    expect(readFileSync(join(folder, "slip.txt"), "utf8")).toBe("# ours\nslip\n");
  });
});
