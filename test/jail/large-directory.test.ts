import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { HostBackend } from "../../src/backend/host/host.js";
import { filesOf } from "../../src/backend-suite/files.js";
import type { EngineName } from "../../src/jail/handles.js";
import { Jail } from "../../src/jail/jail.js";
import { Locks } from "../../src/jail/staging/locks.js";

const ENTRIES = 1000;
const linux = process.platform === "linux";

let path = "";
beforeAll(() => {
  path = mkdtempSync(join(tmpdir(), "venue-files-large-"));
  const large = join(path, "large");
  mkdirSync(large);
  for (let index = 0; index < ENTRIES; index++) writeFileSync(join(large, `file ${index}.txt`), "x".repeat(index));
  mkdirSync(join(large, "directory"));
  symlinkSync("directory", join(large, "link"));
  symlinkSync("nowhere", join(large, "dangling"));
  writeFileSync(join(large, "é😀"), "");
  if (linux) {
    writeFileSync(Buffer.concat([Buffer.from(`${large}/bytes`), Buffer.from([0xff, 0xe9])]), "12");
    execFileSync("mkfifo", [join(large, "pipe")]);
  }
});
afterAll(() => rmSync(path, { recursive: true, force: true }));

const opened: HostBackend[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
});

function filesBy(engine: EngineName) {
  const options = { path, readOnly: true, crossDevice: false, io: "sync", engine } as const;
  const backend = new HostBackend(new Jail(options, new Locks()), {
    durable: false,
    hardLinks: false,
    maxCopyBytes: 8_388_608,
  });
  opened.push(backend);
  return filesOf(backend);
}

const page = { offset: 0, limit: 10_000 };

test("a large directory is listed whole", async () => {
  const { total } = await filesBy("real-path check").list("large", page);
  expect(total).toBe(ENTRIES + (linux ? 6 : 4));
});

const ENGINES: readonly EngineName[] = linux ? ["handle walk", "openat2"] : [];
test.each(ENGINES)("a large directory is listed identically by %s", async (engine) => {
  expect(await filesBy(engine).list("large", page)).toEqual(await filesBy("real-path check").list("large", page));
});
