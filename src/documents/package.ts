// Documents that are zips with XML in them: their parts, read within bounds.

import { crc32 } from "node:zlib";
import type { Entry, ZipFile } from "yauzl";
import { Ended, Unreadable } from "./ending.js";
import { readXml, type XmlHandler } from "./xml.js";

const MAX_ENTRIES = 10_000;
const MAX_PART_BYTES = 67_108_864;
const MAX_BYTES = 268_435_456;
const DEFLATED = 8;

/** Where a part refers to others. */
export interface Relation {
  readonly type: string;
  /** Name of the part. */
  readonly target: string;
}

export class Package {
  readonly #zip: ZipFile;
  readonly #entries: ReadonlyMap<string, Entry>;
  #bytes = 0;

  private constructor(zip: ZipFile, entries: ReadonlyMap<string, Entry>) {
    this.#zip = zip;
    this.#entries = entries;
  }

  /** @throws Unreadable, Ended */
  static async open(data: Buffer): Promise<Package> {
    const { fromBufferPromise } = await import("yauzl");
    const entries = new Map<string, Entry>();
    try {
      const zip = await fromBufferPromise(data, { lazyEntries: true });
      if (zip.entryCount > MAX_ENTRIES) throw new Ended("spent");
      for await (const entry of zip.eachEntry()) entries.set(entry.fileName.toLowerCase(), entry);
      return new Package(zip, entries);
    } catch (error) {
      throw error instanceof Ended ? error : new Unreadable("damaged");
    }
  }

  /** Names of parts differ in more than case. */
  has(name: string): boolean {
    return this.#entries.has(name.toLowerCase());
  }

  /** Reads a part as XML. @throws Unreadable if it is missing or damaged, Ended, and as the handler does */
  async read(name: string, handler: XmlHandler): Promise<void> {
    await readXml(this.#content(name), handler);
  }

  /** As {@link read}, where there is such a part. */
  async readIfThere(name: string | undefined, handler: XmlHandler): Promise<void> {
    if (name !== undefined && this.has(name)) await this.read(name, handler);
  }

  /** A short part as it is. */
  async text(name: string): Promise<string> {
    let text = "";
    for await (const chunk of this.#content(name)) text += chunk.toString("latin1");
    return text;
  }

  /** The parts that a part refers to, by id. @param part `""`: the document itself */
  async relations(part: string): Promise<ReadonlyMap<string, Relation>> {
    const relations = new Map<string, Relation>();
    const slash = part.lastIndexOf("/") + 1;
    await this.readIfThere(`${part.slice(0, slash)}_rels/${part.slice(slash)}.rels`, {
      open: (name, { Id, Type, Target, TargetMode }) => {
        if (name !== "Relationship" || Id === undefined || Target === undefined || TargetMode === "External") return;
        relations.set(Id, { type: (Type ?? "").replace(/^.*\//, ""), target: resolve(part, Target) });
      },
    });
    return relations;
  }

  async *#content(name: string): AsyncGenerator<Buffer> {
    const entry = this.#entries.get(name.toLowerCase());
    if (entry === undefined) throw new Unreadable("damaged");
    if (entry.isEncrypted()) throw new Unreadable("encrypted");
    if (entry.compressionMethod !== 0 && entry.compressionMethod !== DEFLATED) throw new Unreadable("unsupported");
    let bytes = 0;
    let sum = 0;
    try {
      for await (const chunk of await this.#zip.openReadStreamPromise(entry)) {
        bytes += chunk.length;
        this.#bytes += chunk.length;
        if (bytes > MAX_PART_BYTES || this.#bytes > MAX_BYTES) throw new Ended("spent");
        sum = crc32(chunk, sum);
        yield chunk;
      }
    } catch (error) {
      throw error instanceof Ended || error instanceof Unreadable ? error : new Unreadable("damaged");
    }
    if (sum !== entry.crc32) throw new Unreadable("damaged");
  }
}

/** The relation of a type among some. */
export const relationOf = (relations: ReadonlyMap<string, Relation>, type: string): string | undefined =>
  [...relations.values()].find((one) => one.type === type)?.target;

/** A target is relative to its part, or begins with a slash. */
function resolve(part: string, target: string): string {
  try {
    return decodeURIComponent(new URL(target, `file:///${part}`).pathname).slice(1);
  } catch {
    throw new Unreadable("damaged");
  }
}
