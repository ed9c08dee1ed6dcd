import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { createVenue, type Venue, type VenueConfigInput } from "../../../src/index.js";
import { EVERYDAY } from "../../surfaces/mcp/everyday.js";
import { ask } from "../../surfaces/mcp/raw.js";

let base: string;
let venue: Venue;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "venue-mcp-host-")));
});
afterEach(async () => {
  await venue.close();
  rmSync(base, { recursive: true, force: true });
});

async function toolsOf(mcp: Exclude<VenueConfigInput["mcp"], false>): Promise<string[]> {
  venue = await createVenue({ port: 0, stateDir: "state", ...(mcp === undefined ? {} : { mcp }) }, { baseDir: base });
  const { url } = await venue.listen();
  const { result } = await ask(url, { method: "tools/list" });
  return result.tools.map(({ name }: { name: string }) => name);
}

test("tools about tokens and callers are offered only where they are named", async () => {
  const tools = await toolsOf(undefined);
  expect(tools).toEqual(EVERYDAY);
  expect(tools.every((name) => name.startsWith("file_"))).toBe(true);
});

test.each<[readonly string[], readonly string[]]>([
  [["auth"], ["auth_whoami", "auth_issue", "auth_list", "auth_revoke"]],
  [["ucan"], ["ucan_issue", "ucan_verify", "ucan_revoke"]],
])("tools of %j alone are offered where that is all that is named", async (includeAdapters, expected) => {
  expect((await toolsOf({ includeAdapters })).sort()).toEqual([...expected].sort());
});

test("tools about tokens are offered beside those of files where both are named", async () => {
  const tools = await toolsOf({ includeAdapters: ["file", "auth"] });
  expect(tools).toHaveLength(EVERYDAY.length + 4);
  expect(tools).toContain("auth_whoami");
});
