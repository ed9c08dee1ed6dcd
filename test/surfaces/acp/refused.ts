import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { useGround } from "../../ops/ground.js";

/** Why a path is refused to a session in `work`, `/read-only` and `/small`. */
export type Why =
  | "outside_roots"
  | "missing"
  | "is_directory"
  | "not_a_directory"
  | "policy"
  | "read_only"
  | "quota"
  | "not_text"
  | "too_large";

export const GROUND = {
  root: { deny: ["secret"] },
  roots: { ro: { temp: true, readOnly: true }, small: { temp: true, quota: { bytes: 4 } } },
  limits: { maxReadBytes: 1000 },
} as const;
export const MOUNTS = [{ root: "r" }, { root: "ro", prefix: "/read-only" }, { root: "small", prefix: "/small" }];

type Ground = ReturnType<typeof useGround>;

export const directories = ({ dir }: Ground) => ({
  cwd: join(dir, "work"),
  additionalDirectories: ["/read-only", "/small"],
});

export function layOut(ground: Ground): void {
  ground.put("work/file", "text");
  ground.put("work/secret", "s");
  ground.put("work/bytes", Buffer.from([0xff, 0xfe, 0x00, 0x01]));
  ground.put("work/large", "x".repeat(1001));
  ground.put("other/file", "of another session");
  mkdirSync(join(ground.dir, "work/dir"));
  symlinkSync(ground.outside, join(ground.dir, "work/out"));
  symlinkSync("../other", join(ground.dir, "work/beside"));
  symlinkSync("../other/file", join(ground.dir, "work/beside-file"));
  symlinkSync("nothing", join(ground.dir, "work/dangling"));
}

/** Reads that are refused by the methods and by tools alike. Paths without a slash before them are below `work`. */
export const READS: readonly [string, Why][] = [
  ["/", "outside_roots"],
  ["/etc/passwd", "outside_roots"],
  ["/read-onlyx/file", "outside_roots"],
  ["out/file", "outside_roots"],
  ["beside/file", "outside_roots"],
  ["beside/nothing", "outside_roots"],
  ["beside-file", "outside_roots"],
  ["dangling", "outside_roots"],
  ["../other/file", "outside_roots"],
  ["/../etc/passwd", "outside_roots"],
  ["nothing", "missing"],
  ["dir", "is_directory"],
  ["file/x", "missing"],
  ["secret", "policy"],
];

export const WRITES: readonly [string, Why][] = [
  ["/etc/venue-files-test", "outside_roots"],
  ["out/file", "outside_roots"],
  ["beside/file", "outside_roots"],
  ["beside/new/file", "outside_roots"],
  ["beside-file", "outside_roots"],
  ["dangling", "outside_roots"],
  ["dir", "is_directory"],
  ["file/x", "not_a_directory"],
  ["secret", "policy"],
  ["/read-only/file", "read_only"],
  ["/small/file", "quota"],
];
