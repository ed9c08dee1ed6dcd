import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll } from "@jest/globals";
import {
  createFileAdapter,
  createProfile,
  type FileAdapter,
  type InvokeContext,
  type ProfileBinding,
  type ToolProfile,
} from "../../../src/index.js";

export type Kind = "host" | "temp" | "drive";
export const KINDS: readonly Kind[] = ["host", "temp", "drive"];

export const hashOf = (content: string | Buffer): string =>
  `sha256:${createHash("sha256").update(content).digest("hex")}`;

/** One instance of the profile, and its root. */
export interface Bed {
  readonly adapter: FileAdapter;
  readonly profile: ToolProfile;
  /** Host directory of the session's root; of a host root only. */
  readonly dir: string;
  readonly outside: string;
  /** Who calls, where the root needs somebody. */
  readonly context: InvokeContext;
  call(tool: string, args?: object, context?: InvokeContext): Promise<Record<string, unknown>>;
  /** The text of a failure. */
  fail(tool: string, args?: object, context?: InvokeContext): Promise<string>;
  /** On the host, without the adapter. */
  put(path: string, content: string | Buffer): void;
  get(path: string): string;
}

interface BedOptions {
  readonly kind?: Kind;
  readonly binding?: Partial<ProfileBinding>;
  /** Of the root. */
  readonly root?: object;
}

const OWNER = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";

/** Declares a bed for the tests of a file or a `describe`. The session's root is empty at first. */
export function useBed({ kind = "host", binding = {}, root = {} }: BedOptions = {}): Bed {
  let home = "";
  let adapter: FileAdapter | undefined;
  let profile: ToolProfile | undefined;
  const context = kind === "drive" ? { callerDID: OWNER, authentication: "identity" as const } : {};
  beforeAll(async () => {
    home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-everruns-")));
    for (const name of ["root", "outside"]) mkdirSync(join(home, name));
    const place = { host: { path: join(home, "root") }, temp: { temp: true }, drive: { dlfs: "notes" } }[kind];
    adapter = await createFileAdapter({ roots: { r: { ...place, ...root } } } as Parameters<
      typeof createFileAdapter
    >[0]);
    profile = createProfile(adapter, { profile: "everruns", root: "r", ...binding });
  });
  afterAll(async () => {
    await adapter?.close();
    rmSync(home, { recursive: true, force: true });
  });
  const ready = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error("The bed is there only while tests run");
    return value;
  };
  const bed: Bed = {
    context,
    get adapter() {
      return ready(adapter);
    },
    get profile() {
      return ready(profile);
    },
    get dir() {
      return join(home, "root", binding.prefix ?? "");
    },
    get outside() {
      return join(home, "outside");
    },
    call: async (tool, args = {}, given = context) => ({ ...(await bed.profile.call(tool, args, given)) }),
    async fail(tool, args, given) {
      const { error, ...rest } = await bed.call(tool, args, given);
      if (typeof error !== "string" || Object.keys(rest).length > 0) throw new Error(`${tool} did not fail`);
      return error;
    },
    put(path, content) {
      mkdirSync(dirname(join(bed.dir, path)), { recursive: true });
      writeFileSync(join(bed.dir, path), content);
    },
    get: (path) => readFileSync(join(bed.dir, path), "utf8"),
  };
  return bed;
}

/** A bed of variant 0.50 in a directory of the root. */
export const useBed050 = ({ binding = {}, ...options }: BedOptions = {}): Bed =>
  useBed({ ...options, binding: { variant: "0.50", prefix: "s", ...binding } });

/** The account of an answer of which nothing was cut. */
export const whole = (bytes: number) => ({
  ...{ truncated: false, bytes_returned: bytes, bytes_total: bytes, reason: "size_cap" },
});
