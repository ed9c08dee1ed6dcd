// Dead properties: what clients store beside resources. Kept by tree and path, never inside a root or drive.

import type { Awaitable } from "../../../../core/io.js";
import type { JsonObject } from "../../../../core/ports/adapter.js";
import { fieldsOf } from "../../../../core/unknown.js";
import type { DavFile } from "../../host.js";
import type { Spot } from "../spot.js";

const MAX_PROPERTY_BYTES = 8192;
const MAX_RESOURCE_BYTES = 65_536;
const MAX_PROPERTIES = 100;

/** Properties of one resource: their XML, by name in Clark notation. */
export type Properties = ReadonlyMap<string, string>;

export interface Kept {
  readonly isCollection: boolean;
  readonly properties: Properties;
}

/** Changes of one PROPPATCH: XML by name in Clark notation; `undefined` removes. */
export type PropertyChanges = ReadonlyMap<string, string | undefined>;

/** Kept by path within a tree, and trees by name. */
type Trees = Map<string, Map<string, Kept>>;

export const NONE: Properties = new Map();

export class DeadProperties {
  static readonly MOST_BYTES = 16_777_216;
  readonly #file: DavFile | undefined;
  #trees: Trees = new Map();
  #bytes = 0;
  #loaded: Promise<void> | undefined;
  #saving: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  /** @param file absent: in memory */
  constructor(file: DavFile | undefined) {
    this.#file = file;
  }

  /** Reads what was kept; to be awaited before anything else. */
  ready(): Promise<void> {
    this.#loaded ??= this.#load();
    return this.#loaded;
  }

  /** Properties of a resource that exists; those of one of another kind are dropped. */
  of(spot: Spot, isCollection: boolean): Properties {
    const kept = this.#trees.get(spot.tree)?.get(pathOf(spot));
    if (kept === undefined) return NONE;
    if (kept.isCollection === isCollection) return kept.properties;
    this.dropOne(spot);
    return new Map();
  }

  /** Whether the changes stay within the limits. */
  fits(spot: Spot, isCollection: boolean, changes: PropertyChanges): boolean {
    const before = this.of(spot, isCollection);
    const after = changedWithin(before, changes);
    return after !== undefined && this.#bytes - sizeOf(before) + sizeOf(after) <= DeadProperties.MOST_BYTES;
  }

  /** @returns `false`: they cannot be kept, and none was changed @throws SHARED_STATE_UNAVAILABLE */
  async change(spot: Spot, isCollection: boolean, changes: PropertyChanges): Promise<boolean> {
    if (changes.size === 0) return true;
    const before = this.of(spot, isCollection);
    const kept = { isCollection, properties: applyChanges(before, changes) };
    const path = pathOf(spot);
    this.put(spot.tree, path, kept);
    try {
      await this.#save();
      return true;
    } catch {
      const present = this.#trees.get(spot.tree)?.get(path);
      if (present === undefined || present === kept) this.put(spot.tree, path, { isCollection, properties: before });
      return false;
    }
  }

  /** Whether a copy of all properties at and below a place stays within the limits. */
  hasRoomForCopy(spot: Spot): Awaitable<boolean> {
    return this.#bytes + this.bytesWithin(spot) <= DeadProperties.MOST_BYTES;
  }

  protected bytesWithin(spot: Spot): number {
    return this.#within(spot).reduce((sum, [, { properties }]) => sum + sizeOf(properties), 0);
  }

  /** Properties at and below a place go to another. @param isCopied they stay at the first one too */
  relocate(from: Spot, to: Spot, { isCopied, isDeep }: { readonly isCopied: boolean; readonly isDeep: boolean }): void {
    const all = this.#within(from);
    this.drop(to);
    for (const [path, kept] of all) {
      if (!isCopied) this.remove(from.tree, path);
      const rest = path.slice(pathOf(from).length);
      if (isDeep || rest === "") this.put(to.tree, `${pathOf(to)}${rest}`, kept);
    }
    if (all.length > 0) this.#saveLater();
  }

  /** Forgets the properties of a resource that has come anew, or is gone. */
  dropOne(spot: Spot): void {
    if (this.remove(spot.tree, pathOf(spot))) this.#saveLater();
  }

  /** Forgets the properties at and below a place. */
  drop(spot: Spot): void {
    const all = this.#within(spot);
    for (const [path] of all) this.remove(spot.tree, path);
    if (all.length > 0) this.#saveLater();
  }

  #within(spot: Spot): [string, Kept][] {
    const top = pathOf(spot);
    return [...(this.#trees.get(spot.tree) ?? [])].filter(
      ([path]) => path === top || top === "" || path.startsWith(`${top}/`),
    );
  }

  protected put(tree: string, path: string, kept: Kept): void {
    this.remove(tree, path);
    if (kept.properties.size === 0) return;
    this.#bytes += sizeOf(kept.properties);
    const paths = this.#trees.get(tree) ?? new Map<string, Kept>();
    this.#trees.set(tree, paths.set(path, kept));
  }

  protected remove(tree: string, path: string): boolean {
    const paths = this.#trees.get(tree);
    const kept = paths?.get(path);
    if (paths === undefined || kept === undefined) return false;
    this.#bytes -= sizeOf(kept.properties);
    paths.delete(path);
    if (paths.size === 0) this.#trees.delete(tree);
    return true;
  }

  async #load(): Promise<void> {
    const text = await this.#file?.read();
    this.#trees = parse(text ?? "");
    for (const paths of this.#trees.values()) {
      for (const { properties } of paths.values()) this.#bytes += sizeOf(properties);
    }
    // Nobody else writes it, so what is read is written the same again.
    if (text === undefined || serialize(this.#trees) === text) return;
    await this.#file?.setAside();
    this.#saveLater();
  }

  #saveLater(): void {
    // A failed save must not fail the request; the next save writes the change.
    this.#save().catch(() => {});
  }

  /** Saves what there is now; requests that come meanwhile share the next save. */
  #save(): Promise<void> {
    const file = this.#file;
    if (file === undefined) return Promise.resolve();
    const write = async () => {
      await this.#saving?.catch(() => {});
      this.#saving = this.#next;
      this.#next = undefined;
      await file.write(serialize(this.#trees));
    };
    this.#next ??= write();
    return this.#next;
  }
}

export const pathOf = ({ segments }: Spot): string => segments.join("/");

/** @returns `undefined`: beyond the limits of a resource */
export function changedWithin(before: Properties, changes: PropertyChanges): Properties | undefined {
  const after = applyChanges(before, changes);
  const isEachSmall = [...changes.values()].every((xml) => Buffer.byteLength(xml ?? "") <= MAX_PROPERTY_BYTES);
  const fits = isEachSmall && after.size <= MAX_PROPERTIES && sizeOf(after) <= MAX_RESOURCE_BYTES;
  return fits ? after : undefined;
}

function applyChanges(before: Properties, changes: PropertyChanges): Map<string, string> {
  const after = new Map(before);
  for (const [name, xml] of changes) {
    if (xml === undefined) after.delete(name);
    else after.set(name, xml);
  }
  return after;
}

const sizeOf = (properties: Properties): number =>
  [...properties].reduce((sum, [name, xml]) => sum + Buffer.byteLength(name) + Buffer.byteLength(xml), 0);

function serialize(trees: Trees): string {
  const asObject = ([path, { isCollection, properties }]: [string, Kept]) => [
    path,
    { isCollection, properties: Object.fromEntries(properties) },
  ];
  const all = [...trees].map(([tree, paths]) => [tree, Object.fromEntries([...paths].map(asObject))]);
  return JSON.stringify({ version: 1, trees: Object.fromEntries(all) });
}

/** Unreadable entries are dropped: nothing depends on them. */
function parse(text: string): Trees {
  const trees: Trees = new Map();
  for (const [tree, paths] of entriesOf(membersOf(text)["trees"])) {
    const kept = entriesOf(paths).map(([path, one]): [string, Kept] => {
      const { isCollection, properties } = fieldsOf(one);
      const valid = entriesOf(properties).filter((pair): pair is [string, string] => typeof pair[1] === "string");
      return [path, { isCollection: isCollection === true, properties: new Map(valid) }];
    });
    trees.set(tree, new Map(kept));
  }
  return trees;
}

function membersOf(text: string): JsonObject {
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    return {};
  }
}

const entriesOf = (value: unknown): [string, unknown][] => Object.entries(fieldsOf(value));
