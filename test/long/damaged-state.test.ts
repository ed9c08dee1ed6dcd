// No file of the state folder ends the process, whatever is in it.

import { randomBytes } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { cleanUp, makeFolder, type Running, start } from "../cli/process.js";
import { run, send } from "../surfaces/http/client.js";

afterAll(cleanUp);

const CONFIG = {
  ...{ port: 0, stateDir: "./state", seedFile: "./state/keys/venue.seed", webdav: true },
  drives: { store: { path: "./state/drives" } },
  file: { roots: { docs: { path: "./docs", durability: "none" }, notes: { dlfs: "notes" } } },
  auth: { ucan: { revocations: "./state/revocations" } },
  audit: { file: "./state/audit/audit.jsonl" },
  storage: { content: "file", path: "./state/assets" },
};
const DAMAGES: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  empty: () => Buffer.alloc(0),
  zeros: (bytes) => Buffer.alloc(bytes.length),
  random: (bytes) => randomBytes(bytes.length),
  half: (bytes) => bytes.subarray(0, bytes.length >> 1),
  "a few bytes": (bytes) => bytes.subarray(0, 9),
  "one flipped bit": (bytes) => flipped(bytes, Math.floor(Math.random() * Math.min(bytes.length, 4096))),
  "one flipped bit at the start": (bytes) => flipped(bytes, 0),
};
function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 0x08;
  return copy;
}

let folder = "";
let files: readonly string[] = [];

beforeAll(async () => {
  folder = makeFolder({ "venue.json5": JSON.stringify(CONFIG), "state/revocations": "" });
  for (const name of ["docs", "state/audit", "state/keys", "state/assets"]) mkdirSync(join(folder, name));
  const venue = start(["serve", "--config", "venue.json5"], { cwd: folder });
  expect(await used((await urlOf(venue)) ?? "")).toEqual(OK);
  expect((await venue.stop()).status).toBe(0);
  cpSync(join(folder, "state"), join(folder, "whole"), { recursive: true });
  files = readdirSync(join(folder, "whole"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(join(folder, "whole"), join(entry.parentPath, entry.name)));
});

/** `undefined`: it has ended. */
const urlOf = (venue: Running): Promise<string | undefined> =>
  venue.until(/listens on (\S+)\n[\s\S]*Stop with Ctrl-C/).then(
    ([, url]) => url,
    () => undefined,
  );

/** Uses everything that has a file. @returns the status of each answer */
async function used(url: string): Promise<number[]> {
  const token = readFileSync(join(folder, "state/local-token"), "utf8").trim();
  const call = async (operation: string, input: object) => (await run(url, operation, input, token)).status;
  const property = `<propertyupdate xmlns="DAV:"><set><prop><x xmlns="urn:x">1</x></prop></set></propertyupdate>`;
  return [
    await call("file:write", { root: "docs", path: "a", content: "one" }),
    await call("file:write", { root: "docs", path: "a", content: "two" }),
    await call("file:history", { root: "docs" }),
    await call("file:read", { root: "docs", path: "a" }),
    await call("auth:issue", { label: "bot", caps: [{ with: "file://docs/", can: "crud/read" }] }),
    (await send(`${url}/api/v1/assets`, { token, json: { name: "x", content: "eA==" } })).status,
    (await send(`${url}/dav/docs/a`, { token, method: "PROPPATCH", body: property })).status,
    await call("file:write", { root: "notes", path: "a", content: "one" }),
  ];
}

const OK = [200, 200, 200, 200, 200, 201, 207, 200];
/** By the last file: the parts of {@link used} that may fail. */
const MAY_FAIL: Readonly<Record<string, readonly number[]>> = {
  "drives/index/data.mdb": [7],
  "webdav-properties.json": [6],
};

test.each(Object.entries(DAMAGES))(
  "a venue starts and works, or says in one line why not: each file %s",
  async (_, damage) => {
    for (const file of files) {
      rmSync(join(folder, "state"), { recursive: true });
      cpSync(join(folder, "whole"), join(folder, "state"), { recursive: true });
      writeFileSync(join(folder, "state", file), damage(usedPart(file)));
      const venue = start(["serve", "--config", "venue.json5"], { cwd: folder });
      const url = await urlOf(venue);
      const found = url === undefined ? [] : await used(url);
      const { status, signal, stderr, stdout } = await venue.stop();
      expect({ file, signal }).toEqual({ file, signal: null });
      // One line; of one that serves, the log.
      if (url === undefined)
        expect({ file, stdout, stderr }).toMatchObject({
          stdout: "",
          stderr: expect.stringMatching(/^venue\.json5:[^\n]+\n$/),
        });
      else for (const line of stderr.split("\n").slice(0, -1)) expect(JSON.parse(line)).toHaveProperty("msg");
      if (url === undefined) continue;
      const left = found.map((answer, index) => (MAY_FAIL[file]?.includes(index) ? OK[index] : answer));
      expect({ file, status, left }).toEqual({ file, status: 0, left: OK });
    }
  },
);

/** The end of a database is room. */
function usedPart(file: string): Buffer {
  const bytes = readFileSync(join(folder, "whole", file));
  if (!file.endsWith("data.mdb")) return bytes;
  const last = Math.max(bytes.readUInt32LE(144), bytes.readUInt32LE(4096 + 144));
  return bytes.subarray(0, (last + 1) * 4096);
}
