import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { HostBackend } from "../../../src/backend/host/host.js";
import { at } from "../../../src/backend-suite/access.js";
import { bodyOf, filesOf } from "../../../src/backend-suite/files.js";
import { parseFileConfig } from "../../../src/config/load.js";
import type { HostRootInput } from "../../../src/config/types.js";
import { isPersonal } from "../../../src/core/ports/operation.js";
import type { EngineName } from "../../../src/jail/handles.js";
import { Jail } from "../../../src/jail/jail.js";
import { Locks } from "../../../src/jail/staging/locks.js";
import { openRoots } from "../../../src/roots/open.js";
import { diskDirectory } from "../../disk.js";
import { backendSuite, type OpenedBackend, SUITE_ROOT } from "../suite.js";

type HostOptions = Omit<HostRootInput, "path">;

const links = { links: true };

/** A root as the adapter opens it. @param options `temp`, or what is special about a host directory */
async function openConfigured(options: HostOptions | "temp", parent = tmpdir()): Promise<OpenedBackend> {
  const path = mkdtempSync(join(parent, "venue-files-suite-"));
  const root = options === "temp" ? { temp: true as const } : { path, ...options };
  const opened = openRoots(parseFileConfig({ roots: { [SUITE_ROOT]: root } }, { baseDir: path }));
  const [only] = opened.roots;
  if (only === undefined || isPersonal(only)) throw new Error("there is no root");
  const { backend } = only;
  return {
    // Closing it closes everything, so that a temp root removes itself.
    backend: new Proxy(backend, {
      get(_, key) {
        if (key === "close") return () => opened.close();
        const method: unknown = Reflect.get(backend, key);
        return typeof method === "function" ? method.bind(backend) : method;
      },
    }),
    cleanup: async () => rmSync(path, { recursive: true, force: true }),
  };
}

function openBy(engine: EngineName): OpenedBackend {
  const path = mkdtempSync(join(tmpdir(), "venue-files-suite-"));
  const options = { path, readOnly: false, crossDevice: false, io: "sync", engine } as const;
  const rules = { durable: false, hardLinks: false, maxCopyBytes: 8_388_608 };
  return {
    backend: new HostBackend(new Jail(options, new Locks()), rules),
    cleanup: async () => rmSync(path, { recursive: true, force: true }),
  };
}

const inPool = () => openConfigured({ io: "pool", durability: "flush" }, diskDirectory());
backendSuite("host, calls in the thread pool, flushed to the disk", inPool, links);
backendSuite("host, openat2", async () => openBy("openat2"), links);
backendSuite("host, real-path check", async () => openBy("real-path check"), links);
backendSuite("temp, synchronous calls", () => openConfigured("temp"), links);

test.each(["none", "flush"] as const)("a file that a group replaces gets its permissions (%s)", async (durability) => {
  const { backend, cleanup } = await openConfigured({ durability });
  const there = at("a");
  const state = async () => backend.state?.(there.path, there.access);
  await filesOf(backend).write("a", "old");
  const options = { parents: false, version: (await state())?.version, mode: 0o604 };
  await backend.changeAll([{ kind: "write", at: there, body: bodyOf("new"), options }]);
  expect(await state()).toMatchObject({ mode: 0o604, size: 3 });
  await backend.close();
  await cleanup();
});

describe.each([["sync"], ["pool"]] as const)("a file that changes while it is read (%s)", (io) => {
  let path = "";
  let opened: ReturnType<typeof openRoots>;

  beforeEach(async () => {
    path = mkdtempSync(join(tmpdir(), "venue-files-growth-"));
    opened = openRoots(parseFileConfig({ roots: { [SUITE_ROOT]: { path, io } } }, { baseDir: path }));
    writeFileSync(join(path, "file"), "0123456789");
  });
  afterEach(async () => {
    await opened.close();
    rmSync(path, { recursive: true });
  });

  /** Reads `length` bytes from `offset`; the file changes once its size has been told. */
  async function read(change: (file: string) => void, length: number, offset = 0) {
    const [root] = opened.roots;
    if (root === undefined || isPersonal(root)) throw new Error("there is no root");
    const { bytes, size } = await filesOf(root.backend).read("file", () => {
      change(join(path, "file"));
      return { offset, length };
    });
    return { text: bytes.toString(), size };
  }

  test("is read on to what was asked for, and its size is at least what was read", async () => {
    const grow = (file: string) => appendFileSync(file, "abcdef");
    expect(await read(grow, 1000)).toEqual({ text: "0123456789abcdef", size: 16 });
    expect(await read(() => {}, 5)).toEqual({ text: "01234", size: 16 });
    expect(await read(grow, 4, 14)).toEqual({ text: "efab", size: 18 });
  });

  test("is never read beyond what was asked for", async () => {
    const grow = (file: string) => appendFileSync(file, "x".repeat(500_000));
    const { text, size } = await read(grow, 300_000);
    expect(text).toBe(`0123456789${"x".repeat(299_990)}`);
    expect(size).toBe(300_000);
  });

  test("gives what is left of it", async () => {
    const shrink = (file: string) => truncateSync(file, 3);
    expect((await read(shrink, 1000)).text).toBe("012");
    expect((await read(() => {}, 10, 5)).text).toBe("");
  });
});
