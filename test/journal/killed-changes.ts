// Kills processes in the middle of changes, and looks at what the next one tells of them.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createFileAdapter, type FileAdapter } from "../../src/index.js";
import type { HistoryOutput } from "../../src/schema/types.js";

type Call = readonly [op: string, input: object];

/**
 * Where the process dies: once a change is noted, right after its commit, or once its entry waits to be written; and at
 * which change of the call.
 */
export type Moment = readonly ["noted" | "committed" | "added", nth: number];

const CHILD = `
  import fs from "node:fs";
  import { syncBuiltinESMExports } from "node:module";
  import { text } from "node:stream/consumers";
  const [library, stateDir, path] = process.argv.slice(1);
  const { createFileAdapter } = await import(library);
  const files = await createFileAdapter({ stateDir, roots: { r: { path, durability: "none" } } });
  const { call: [op, input], moment: [moment, nth], isFull } = JSON.parse(await text(process.stdin));
  const journal = await files.roots[0].journal.open();
  const name = moment === "noted" ? "begin" : "add";
  const real = journal[name];
  const { writeSync } = fs;
  fs.writeSync = (fd, bytes, ...rest) => {
    if (!isFull || !fs.readlinkSync("/proc/self/fd/" + fd).includes("pending-")) return writeSync(fd, bytes, ...rest);
    throw Object.assign(new Error("full"), { code: "ENOSPC" });
  };
  syncBuiltinESMExports();
  let left = nth;
  journal[name] = (...given) => {
    const isLast = --left === 0;
    if (isLast && moment === "committed") process.kill(process.pid, "SIGKILL");
    const answer = real.apply(journal, given);
    if (isLast) process.kill(process.pid, "SIGKILL");
    return answer;
  };
  await files.invoke("file:" + op, { root: "r", ...input });
  process.exit(1);
`;

/** Makes random changes until it is killed. */
const BUSY_CHILD = `
  const [library, stateDir, path] = process.argv.slice(1);
  const { createFileAdapter } = await import(library);
  const files = await createFileAdapter({ stateDir, roots: { r: { path, durability: "none" } } });
  const pick = (...some) => some[Math.floor(Math.random() * some.length)];
  const name = () => pick("", "d/", "d/e/") + pick("a", "b", "c", "d");
  const text = () => pick("short", "l".repeat(80_000)) + Math.random();
  const changes = {
    write: () => ({ path: name(), content: text(), parents: true }),
    append: () => ({ path: name(), content: text(), parents: true }),
    mkdir: () => ({ path: name(), parents: true }),
    copy: () => ({ path: name(), to: name(), recursive: true, parents: true }),
    move: () => ({ path: name(), to: name(), overwrite: true, parents: true }),
    delete: () => ({ path: name(), recursive: true }),
    patch: () => ({
      changes: [
        { op: "write", path: name(), content: text() },
        { op: "move", path: name(), to: name() },
        { op: pick("mkdir", "delete"), path: name() },
      ].slice(pick(0, 1)),
    }),
  };
  process.stdout.write("ready");
  for (;;) {
    const op = pick(...Object.keys(changes));
    await files.invoke("file:" + op, { root: "r", ...changes[op]() }).catch(() => {});
    if (Math.random() < 0.2) await new Promise((resolve) => setTimeout(resolve, 12));
  }
`;

const LIBRARY = new URL("../../dist/index.js", import.meta.url).href;

/** What lies in a root: a text for each path, that of a directory with a slash at its end. */
export type Tree = Readonly<Record<string, string>>;

/** A root with a journal, changed by processes that die. */
export class KilledRoot {
  readonly #home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-killed-")));
  readonly root = join(this.#home, "r");

  constructor(tree: Tree) {
    mkdirSync(this.root);
    for (const [path, content] of Object.entries(tree)) {
      if (path.endsWith("/")) mkdirSync(join(this.root, path));
      else writeFileSync(join(this.root, path), content);
    }
  }

  get tree(): Tree {
    const names = readdirSync(this.root, { recursive: true, withFileTypes: true })
      .map((entry) => [join(entry.parentPath, entry.name).slice(this.root.length + 1), entry.isDirectory()] as const)
      .filter(([path]) => !path.startsWith(".venue-files"));
    const read = (path: string): string => readFileSync(join(this.root, path), "utf8");
    return Object.fromEntries(names.map(([path, isFolder]) => (isFolder ? [`${path}/`, ""] : [path, read(path)])));
  }

  /** @param options `isFull`: nothing can be noted @returns how the process ended */
  async kill(call: Call, moment: Moment, { isFull = false } = {}): Promise<unknown> {
    const argv = ["--input-type=module", "-e", CHILD, LIBRARY, join(this.#home, "state"), this.root];
    const child = spawn(process.execPath, argv, { stdio: ["pipe", "inherit", "inherit"] });
    child.stdin.end(JSON.stringify({ call, moment, isFull }));
    const [code, signal] = await once(child, "exit");
    return signal ?? code;
  }

  /** Makes random changes for some time, in milliseconds. */
  async killAfter(time: number): Promise<void> {
    const argv = ["--input-type=module", "-e", BUSY_CHILD, LIBRARY, join(this.#home, "state"), this.root];
    const child = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(child, "exit");
    await once(child.stdout, "data");
    await pause(time);
    child.kill("SIGKILL");
    await ended;
  }

  open(): Promise<FileAdapter> {
    const roots = { r: { path: this.root, durability: "none" } } as const;
    return createFileAdapter({ stateDir: join(this.#home, "state"), roots });
  }

  async with<T>(work: (files: FileAdapter) => Promise<T>): Promise<T> {
    const files = await this.open();
    try {
      return await work(files);
    } finally {
      await files.close();
    }
  }

  /** What a new process tells. */
  history(): Promise<HistoryOutput> {
    return this.with(async (files) => (await files.invoke("file:history", { root: "r" })) as HistoryOutput);
  }

  /** What a new process tells; it then undoes all, the newest first. Each start has a process read the journal first. */
  undoAll(): Promise<HistoryOutput> {
    return this.with(async (files) => {
      const told = (await files.invoke("file:history", { root: "r", limit: 500 })) as HistoryOutput;
      const changes = new Set(told.entries.map(({ id, group = id }) => group));
      while (changes.size > 0) {
        const last = Math.min(50, changes.size);
        await files.invoke("file:undo", { root: "r", last, via: "*" });
        for (const one of [...changes].slice(0, last)) changes.delete(one);
      }
      return told;
    });
  }

  remove(): void {
    rmSync(this.#home, { recursive: true, force: true });
  }
}
