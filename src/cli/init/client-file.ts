// The file of a client: read and written in a folder that is reached through no link, since a project's folder may hold links of others.

import { closeSync, constants, existsSync, fstatSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { ConfigError } from "../../config/errors.js";
import { attempt } from "../../core/io.js";
import { isBelow } from "../../process/host-path.js";
import { codeOf, EXIT } from "../context.js";
import { HeldFolder } from "../output/held-folder.js";
import { writeNewFile } from "../output/new-file.js";

/** Longest file of a client that is read. */
const MAX_BYTES = 4_194_304;
const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
/** The file as it was read. */
interface Old {
  readonly text: string;
  readonly mode: number;
}

export class ClientFile {
  readonly #path: string;
  readonly #shown: string;
  readonly #base: string;
  #old: Old | undefined;

  private constructor(path: string, shown: string, base: string) {
    this.#path = path;
    this.#shown = shown;
    this.#base = base;
  }

  /**
   * @param bases folders that are trusted as they are named: the project's, the user's home
   * @throws ConfigError for a link on the way, and for what is no text
   */
  static async open(path: string, shown: string, bases: readonly string[]): Promise<ClientFile> {
    const base = bases.find((one) => isBelow(path, one)) ?? existingAbove(path);
    const file = new ClientFile(path, shown, base);
    file.#old = existsSync(base) ? await file.#inFolder(false, (folder) => file.#read(folder)) : undefined;
    return file;
  }

  /** `undefined` where there is no file. */
  get text(): string | undefined {
    return this.#old?.text;
  }

  /** Replaces it, and keeps what was there as `.bak`. @throws ConfigError */
  async replace(text: string): Promise<void> {
    const [old, name] = [this.#old, basename(this.#path)];
    const { mode } = old ?? { mode: 0o600 };
    await this.#inFolder(true, async (folder) => {
      if (this.#read(folder)?.text !== old?.text) throw this.#fault("has changed meanwhile. Run init again");
      const path = join(folder.path, name);
      const put = (to: string, content: string, replaces: boolean) =>
        writeNewFile(to, { mode, replaces }, (handle) => handle.writeFile(content));
      if (old !== undefined) await put(`${path}.bak`, old.text, true);
      await put(path, text, old !== undefined);
    });
  }

  /** @returns `undefined` if the folder is not there and is not made */
  async #inFolder<T>(isMade: boolean, work: (folder: HeldFolder) => T | Promise<T>): Promise<T | undefined> {
    const held: HeldFolder[] = [];
    try {
      if (isMade) mkdirSync(this.#base, { recursive: true });
      let folder = HeldFolder.open(this.#base);
      held.push(folder);
      for (const name of relative(this.#base, dirname(this.#path)).split(sep).filter(Boolean)) {
        const inner = await folder.enter(name, isMade);
        if (inner === undefined) return undefined;
        held.push(inner);
        folder = inner;
      }
      return await work(folder);
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      throw this.#fault(`cannot be ${isMade ? "written" : "read"}: ${codeOf(error)}`, EXIT.noInput);
    } finally {
      for (const folder of held) folder.close();
    }
  }

  #read(folder: HeldFolder): Old | undefined {
    const name = basename(this.#path);
    let fd: number | undefined;
    try {
      fd = openSync(join(folder.path, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      const stat = fstatSync(fd);
      if (!stat.isFile()) throw this.#fault("is no file");
      if (stat.size > MAX_BYTES) throw this.#fault("cannot be edited: it is too large. It stays as it is");
      return { text: this.#decode(readFileSync(fd)), mode: stat.mode & 0o777 };
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw folder.linkAt(name) ?? error;
    } finally {
      if (fd !== undefined) closeSync(fd);
    }
  }

  #decode(bytes: Buffer): string {
    const text = attempt(() => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
    if (text !== undefined) return text;
    throw this.#fault("cannot be edited: it is no UTF-8 text. It stays as it is");
  }

  #fault(text: string, status: typeof EXIT.config | typeof EXIT.noInput = EXIT.config): ConfigError {
    return new ConfigError([`The file of ${this.#shown} ${text}`], status);
  }
}

/** The closest folder above a path that is there: that of a setting such as `XDG_CONFIG_HOME`. */
function existingAbove(path: string): string {
  const folder = dirname(path);
  return folder === path || existsSync(folder) ? folder : existingAbove(folder);
}
