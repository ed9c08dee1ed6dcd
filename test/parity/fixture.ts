import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../cli/process.js";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Limits small enough to be met by short calls, and read sizes of MCP that cut nothing within them. */
const LIMITS = { maxReadBytes: 200_000, maxWriteBytes: 100_000 };

const CONFIG = {
  port: 0,
  auth: { public: { caps: [{ with: "file://", can: "crud" }] } },
  mcp: { defaultReadBytes: 200_000, maxReadBytes: 200_000, defaultReadLines: 1_000_000, tools: "full" as const },
  file: {
    roots: {
      // Without a journal: entries have ids of their own on each surface.
      work: { path: "work", description: "Work", durability: "none" as const, journal: "off" as const },
      kept: { path: "kept", readOnly: true },
    },
    limits: LIMITS,
  },
};

/** A fresh folder with roots that are the same every time. */
export interface Ground {
  readonly folder: string;
  /** Path of the configuration. */
  readonly config: string;
  readonly file: (typeof CONFIG)["file"];
}

/** What not every system can make. */
export interface Specials {
  link(target: string, path: string): void;
  pipe(path: string): void;
}

const SYSTEM: Specials = { link: symlinkSync, pipe: (path) => void execFileSync("mkfifo", [path]) };

export function makeGround({ link, pipe }: Specials = SYSTEM): Ground {
  const folder = realpathSync(
    makeFolder({
      "config.json5": JSON.stringify(CONFIG),
      "kept/a.txt": "kept",
      "outside/passwd": "secret",
      "work/text.txt": "héllo wörld\n",
      "work/empty": "",
      "work/data.json": '{ "b": [1, 2.50, null], "a": "x" }',
      "work/binary.dat": Buffer.from([0, 1, 2, 0xff, 0xfe, 10]),
      "work/pixel.png": Buffer.from(PNG, "base64"),
      "work/long.txt": "a line of some length\n".repeat(6000),
      "work/too-large.bin": Buffer.alloc(LIMITS.maxReadBytes + 1),
      // Too long to be copied, which is what an append to a file of several names does.
      "work/hard.txt": Buffer.alloc(LIMITS.maxWriteBytes + 1, "hard"),
      "work/sub/one.txt": "1",
      "work/sub/two.txt": "2",
    }),
  );
  const work = join(folder, "work");
  mkdirSync(join(work, "in"));
  link("text.txt", join(work, "link.txt"));
  link("../text.txt", join(work, "sub/up.txt"));
  link("../outside", join(work, "out"));
  link("nowhere", join(work, "dangling"));
  linkSync(join(work, "hard.txt"), join(work, "hard2.txt"));
  writeFileSync(join(folder, "outside/secret"), "");
  pipe(join(work, "pipe"));
  const roots = {
    work: { ...CONFIG.file.roots.work, path: work },
    kept: { ...CONFIG.file.roots.kept, path: join(folder, "kept") },
  };
  return { folder, config: join(folder, "config.json5"), file: { ...CONFIG.file, roots } };
}
