// Access tokens on disk: a file for each, written once; it is revoked by a rename, which needs no room and no lock.

import { randomBytes } from "node:crypto";
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import type { Log } from "../../core/ports/log.js";
import { flushDirectory, unlessRefused } from "../../jail/staging/place-once.js";
import { errnoOf } from "../../jail/sys.js";
import {
  type AccessEntry,
  type AccessRevocation,
  type SignedUcan,
  type TokenFile,
  type TokenStore,
  tokenFile,
} from "./access-entry.js";

/** Folder in the state directory. */
const FOLDER = "access";
const UCANS = "ucans";
/** A folder changed this recently may change again without another modification time, so it is read again. */
const UNSETTLED_MS = 100;

/**
 * @param stateDir path of the state directory; nothing is made before the first write
 * @param open makes the state directory. @throws ConfigError
 */
export function openAccessStore(stateDir: string, { open, log }: { open: () => void; log: Log }): TokenStore {
  return new AccessStore(join(stateDir, FOLDER), open, log);
}

/** Access tokens of a state directory, as all processes that use it see them. */
class AccessStore implements TokenStore {
  readonly #folder: string;
  readonly #open: () => void;
  readonly #log: Log;
  readonly #tokens = new Map<string, AccessEntry>();
  readonly #links = new Map<string, AccessEntry>();
  readonly #revoked = new Map<string, AccessRevocation>();
  /** Revocations that could not be written. */
  readonly #unwritten = new Map<string, AccessRevocation>();
  readonly #bySecret = new Map<string, AccessEntry>();
  #files: readonly TokenFile[] = [];
  /** Files of which the log says that they cannot be read. */
  readonly #unreadable = new Set<string>();
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

  bySecret(kind: "token" | "link", sha256: string): AccessEntry | undefined {
    this.#refresh();
    return this.#bySecret.get(`${kind} ${sha256}`);
  }

  put(kind: "token" | "link", entry: AccessEntry): boolean {
    return this.#write(`${entry.id}.${kind}`, entry, entry.created);
  }

  /** In force at once, whatever the disk does. @throws the system's error when it cannot be written */
  revoke(id: string, mark: AccessRevocation): void {
    this.#refresh();
    const present = this.#revoked.get(id);
    const strongest = present === undefined || (present.keep && !mark.keep) ? mark : present;
    if (strongest === present && !this.#unwritten.has(id)) return;
    this.#revoked.set(id, strongest);
    this.#unwritten.set(id, strongest);
    this.#rename(id, `${id}.${strongest.keep ? "alone" : "revoked"}-${strongest.at}`);
    this.#unwritten.delete(id);
  }

  #rename(id: string, to: string): void {
    const alone = this.#ofId(id, ({ kind, at }) => kind === "alone" && at !== undefined);
    // A link may become a token meanwhile, which then is revoked by the link's file.
    const isDone = [`${id}.token`, `${id}.link`, ...alone].some((name) => this.#renamed(name, to));
    if (isDone) flushDirectory(this.#folder);
    this.#forgetVersion();
  }

  /** @returns `false`: there is no such file */
  #renamed(name: string, to: string): boolean {
    try {
      renameSync(join(this.#folder, name), join(this.#folder, to));
      return true;
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return false;
      throw error;
    }
  }

  #ofId(id: string, isMeant: (file: TokenFile) => boolean): string[] {
    return this.#files.filter((file) => file.id === id && isMeant(file)).map(({ name }) => name);
  }

  lastUsed({ id, created }: AccessEntry): number | undefined {
    const [name = `${id}.token`] = this.#ofId(id, ({ kind, at }) => kind === "token" || at !== undefined);
    const stat = unlessRefused(() => statSync(join(this.#folder, name)));
    const used = stat === undefined ? 0 : Math.round(stat.mtimeMs);
    return used > created ? used : undefined;
  }

  noteUse({ id, created }: AccessEntry, atMs: number): void {
    const seconds = Math.max(atMs, created + 1) / 1000;
    unlessRefused(() => utimesSync(join(this.#folder, `${id}.token`), seconds, seconds));
  }

  /** A mark is a file of its own. */
  markedAt(id: string): number | undefined {
    const stat = unlessRefused(() => statSync(join(this.#folder, `${id}.used`)));
    return stat && Math.round(stat.mtimeMs);
  }

  /** Only in a state directory that is there. */
  mark(id: string, atMs: number): void {
    const path = join(this.#folder, `${id}.used`);
    unlessRefused(() => mkdirSync(this.#folder, { mode: 0o700 }));
    unlessRefused(() => writeFileSync(path, "", { mode: 0o600 }));
    unlessRefused(() => utimesSync(path, atMs / 1000, atMs / 1000));
  }

  remove(kind: "token" | "link", id: string): void {
    this.#unlink(`${id}.${kind}`);
  }

  removeRevocation(id: string): void {
    this.#unwritten.delete(id);
    for (const name of this.#ofId(id, ({ kind }) => kind === "revoked" || kind === "alone")) this.#unlink(name);
  }

  putUcan(entry: SignedUcan): void {
    const folder = join(this.#folder, UCANS);
    this.#open();
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, entry.id), JSON.stringify(entry), { flag: "w", mode: 0o600 });
  }

  ucans(): readonly SignedUcan[] {
    const folder = join(this.#folder, UCANS);
    const names = unlessRefused(() => readdirSync(folder)) ?? [];
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
    unlessRefused(() => unlinkSync(join(this.#folder, name)));
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
    const stat = unlessRefused(() => statSync(this.#folder, { bigint: true }));
    const version = stat === undefined ? "missing" : `${stat.mtimeNs} ${stat.ino}`;
    if (version === this.#version) return;
    const isSettled = stat === undefined || Date.now() - Number(stat.mtimeMs) > UNSETTLED_MS;
    this.#version = isSettled ? version : "";
    this.#readNames(stat === undefined ? [] : (unlessRefused(() => readdirSync(this.#folder)) ?? []));
  }

  #readNames(names: readonly string[]): void {
    this.#files = names.flatMap((name) => tokenFile(name) ?? []);
    const idsOf = (isMeant: (file: TokenFile) => boolean) => new Set(this.#files.filter(isMeant).map(({ id }) => id));
    const tokens = idsOf(({ kind, at }) => kind === "token" || at !== undefined);
    const links = idsOf(({ kind }) => kind === "link");
    const revoked = idsOf(({ kind }) => kind === "revoked" || kind === "alone");
    dropOthers(this.#tokens, tokens);
    dropOthers(this.#links, links);
    dropOthers(this.#revoked, revoked);
    for (const file of this.#files) this.#readFile(file);
    for (const [id, mark] of this.#unwritten) this.#mark(id, mark);
    this.#bySecret.clear();
    for (const kind of ["token", "link"] as const) {
      const entries = kind === "token" ? this.#tokens : this.#links;
      for (const entry of entries.values()) this.#bySecret.set(`${kind} ${entry.sha256}`, entry);
    }
  }

  #readFile({ name, id, kind, at }: TokenFile): void {
    const path = join(this.#folder, name);
    if (kind === "revoked" && at === undefined) {
      this.#readMark(id, path);
      return;
    }
    if (at !== undefined) this.#mark(id, { at, keep: kind === "alone" });
    const entries = kind === "link" ? this.#links : this.#tokens;
    if (entries.has(id)) return;
    const entry = this.#read<AccessEntry>(path);
    const isRevokedLink = at !== undefined && entry?.lifetimeMs !== undefined && entry.login !== true;
    if (entry?.id === id && !isRevokedLink) entries.set(id, entry);
  }

  /** A mark that cannot be read revokes all the same. */
  #readMark(id: string, path: string): void {
    const known = this.#revoked.get(id);
    if (known?.keep === false && known.at !== 0) return;
    this.#mark(id, this.#read<AccessRevocation>(path) ?? { at: 0, keep: false });
  }

  /** A revocation of everything takes the place of one of the token alone. */
  #mark(id: string, mark: AccessRevocation): void {
    if (this.#revoked.get(id)?.keep !== false || !mark.keep) this.#revoked.set(id, mark);
  }

  #read<T extends object>(path: string): T | undefined {
    try {
      const value: unknown = JSON.parse(readFileSync(path, "utf8"));
      if (typeof value === "object" && value !== null) {
        this.#unreadable.delete(path);
        return value as T;
      }
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return undefined;
      if (errnoOf(error) === undefined && !(error instanceof SyntaxError)) throw error;
    }
    // Read again next time: descriptors may have run out.
    this.#version = "";
    const text =
      "a file of access tokens in the state directory cannot be read, and gives nobody anything. Mend or delete it";
    if (!this.#unreadable.has(path)) this.#log.error({ file: basename(path) }, text);
    this.#unreadable.add(path);
    return undefined;
  }
}

function dropOthers(entries: Map<string, unknown>, present: ReadonlySet<string>): void {
  for (const id of entries.keys()) if (!present.has(id)) entries.delete(id);
}
