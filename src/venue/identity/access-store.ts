// Access tokens on disk: a file for each, written once; changes are new files, so that processes need no lock.

import { randomBytes } from "node:crypto";
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { Log } from "../../core/ports/log.js";
import { errnoOf } from "../../jail/sys.js";
import type { AccessEntry, AccessRevocation, SignedUcan } from "./access-entry.js";

/** Folder in the state directory. */
const FOLDER = "access";
const UCANS = "ucans";
/** `token`: in force. `link`: a code not yet exchanged. `revoked`: marks the token of that id. */
type FileKind = "token" | "link" | "revoked";
const FILE = /^([0-9a-f]{32})\.(token|link|revoked)$/;
/** A folder changed this recently may change again without another modification time, so it is read again. */
const UNSETTLED_MS = 100;

/**
 * @param stateDir path of the state directory; nothing is made before the first write
 * @param open makes the state directory. @throws ConfigError
 */
export function openAccessStore(stateDir: string, { open, log }: { open: () => void; log: Log }): AccessStore {
  return new AccessStore(join(stateDir, FOLDER), open, log);
}

/** Access tokens of a state directory, as all processes that use it see them. */
export class AccessStore {
  readonly #folder: string;
  readonly #open: () => void;
  readonly #log: Log;
  readonly #tokens = new Map<string, AccessEntry>();
  readonly #links = new Map<string, AccessEntry>();
  readonly #revoked = new Map<string, AccessRevocation>();
  readonly #bySecret = new Map<string, AccessEntry>();
  #version = "";
  #isChecked = false;

  constructor(folder: string, open: () => void, log: Log) {
    this.#folder = folder;
    this.#open = open;
    this.#log = log;
  }

  tokens(): ReadonlyMap<string, AccessEntry> {
    this.#refresh();
    return this.#tokens;
  }

  links(): ReadonlyMap<string, AccessEntry> {
    this.#refresh();
    return this.#links;
  }

  revocations(): ReadonlyMap<string, AccessRevocation> {
    this.#refresh();
    return this.#revoked;
  }

  /** The entry whose token or code has this hex SHA-256. */
  bySecret(kind: "token" | "link", sha256: string): AccessEntry | undefined {
    this.#refresh();
    return this.#bySecret.get(`${kind} ${sha256}`);
  }

  /** Writes an entry, unless one of its kind and id is there. @returns whether this call wrote it */
  put(kind: "token" | "link", entry: AccessEntry): boolean {
    return this.#write(`${entry.id}.${kind}`, entry, entry.created);
  }

  revoke(id: string, mark: AccessRevocation): void {
    const name = `${id}.revoked`;
    // A revocation of everything takes the place of one of the token alone.
    if (!mark.keep && this.#revoked.get(id)?.keep === true) this.#unlink(name);
    this.#write(name, mark, mark.at);
  }

  /** When it was last used, as far as any process noted it; `undefined`: never. */
  lastUsed({ id, created }: AccessEntry): number | undefined {
    const stat = quietly(() => statSync(join(this.#folder, `${id}.token`)));
    const used = stat === undefined ? 0 : Math.round(stat.mtimeMs);
    return used > created ? used : undefined;
  }

  noteUse({ id, created }: AccessEntry, atMs: number): void {
    const seconds = Math.max(atMs, created + 1) / 1000;
    quietly(() => utimesSync(join(this.#folder, `${id}.token`), seconds, seconds));
  }

  remove(kind: FileKind, id: string): void {
    this.#unlink(`${id}.${kind}`);
  }

  /** Keeps what was signed. Losing it loses a line of a list and nothing else. */
  putUcan(entry: SignedUcan): void {
    const folder = join(this.#folder, UCANS);
    this.#open();
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, entry.id), JSON.stringify(entry), { flag: "w", mode: 0o600 });
  }

  ucans(): readonly SignedUcan[] {
    const folder = join(this.#folder, UCANS);
    const names = quietly(() => readdirSync(folder)) ?? [];
    return names.flatMap((name) => this.#read<SignedUcan>(join(folder, name)) ?? []);
  }

  removeUcan(id: string): void {
    this.#unlink(join(UCANS, id));
  }

  /** Whole or not at all, and only once: of two processes that write one name, one wins. */
  #write(name: string, content: object, timeMs: number): boolean {
    this.#open();
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const draft = join(this.#folder, `${randomBytes(8).toString("hex")}.draft`);
    try {
      writeFileSync(draft, JSON.stringify(content), { flag: "wx", mode: 0o600, flush: true });
      utimesSync(draft, timeMs / 1000, timeMs / 1000);
      linkSync(draft, join(this.#folder, name));
      return true;
    } catch (error) {
      if (errnoOf(error) === "EEXIST") return false;
      throw error;
    } finally {
      rmSync(draft, { force: true });
      this.#forgetVersion();
    }
  }

  #unlink(name: string): void {
    quietly(() => unlinkSync(join(this.#folder, name)));
    this.#forgetVersion();
  }

  #forgetVersion(): void {
    this.#version = "";
    this.#isChecked = false;
  }

  /** Looks at the folder at most once per turn, and reads only files that it has not read. */
  #refresh(): void {
    if (this.#isChecked) return;
    this.#isChecked = true;
    queueMicrotask(() => {
      this.#isChecked = false;
    });
    const stat = quietly(() => statSync(this.#folder, { bigint: true }));
    const version = stat === undefined ? "missing" : `${stat.mtimeNs} ${stat.ino}`;
    if (version === this.#version) return;
    const isSettled = stat === undefined || Date.now() - Number(stat.mtimeMs) > UNSETTLED_MS;
    this.#version = isSettled ? version : "";
    this.#readNames(stat === undefined ? [] : (quietly(() => readdirSync(this.#folder)) ?? []));
  }

  #readNames(names: readonly string[]): void {
    const found = names.flatMap((name) => {
      const [, id, kind] = FILE.exec(name) ?? [];
      return id === undefined ? [] : [{ name, id, kind: kind as FileKind }];
    });
    const maps = { token: this.#tokens, link: this.#links, revoked: this.#revoked };
    for (const [kind, map] of Object.entries(maps)) {
      const present = new Set(found.filter((one) => one.kind === kind).map(({ id }) => id));
      for (const id of map.keys()) if (!present.has(id)) map.delete(id);
    }
    for (const { name, id, kind } of found) {
      const path = join(this.#folder, name);
      if (kind === "revoked") this.#readRevocation(id, path);
      else if (!maps[kind].has(id)) {
        const entry = this.#read<AccessEntry>(path);
        if (entry?.id === id) maps[kind].set(id, entry);
      }
    }
    this.#bySecret.clear();
    for (const kind of ["token", "link"] as const) {
      for (const entry of maps[kind].values()) this.#bySecret.set(`${kind} ${entry.sha256}`, entry);
    }
  }

  /** A mark that cannot be read revokes all the same. */
  #readRevocation(id: string, path: string): void {
    if (this.#revoked.get(id)?.keep === false && this.#revoked.get(id)?.at !== 0) return;
    this.#revoked.set(id, this.#read<AccessRevocation>(path) ?? { at: 0, keep: false });
  }

  #read<T extends object>(path: string): T | undefined {
    try {
      const value: unknown = JSON.parse(readFileSync(path, "utf8"));
      if (typeof value === "object" && value !== null) return value as T;
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return undefined;
      if (errnoOf(error) === undefined && !(error instanceof SyntaxError)) throw error;
    }
    // It is tried again: descriptors may have run out.
    this.#version = "";
    this.#log.error({}, "a file of access tokens in the state directory cannot be read, and gives nobody anything");
    return undefined;
  }
}

/** Without what the system refuses: a file that another process took away meanwhile is one that is not there. */
function quietly<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}
