// Plans the sections of a patch in order: each works on the result of the ones before.

import { adapterError } from "../../core/errors/errors.js";
import {
  alreadyExists,
  at,
  escapeText,
  existsNotDirectory,
  invalidInput,
  isADirectory,
  notADirectory,
  notEmpty,
  notFound,
} from "../../core/errors/texts.js";
import type { FileStat } from "../../core/ports/backend.js";
import type { FileCall } from "../../core/ports/operation.js";
import {
  type Entry,
  type FileEntry,
  type MoveEntry,
  type PlannedEntry,
  planEntry,
  type RemoveEntry,
} from "./entries.js";
import { changed } from "./new-text.js";
import { expectedIn, fileOnDisk, type PlacedSection, statOnDisk, textBefore } from "./on-disk.js";
import type { Section } from "./section.js";

type Of<K extends Section["kind"]> = PlacedSection & { readonly section: Extract<Section, { kind: K }> };
const is = <K extends Section["kind"]>(placed: PlacedSection, kind: K): placed is Of<K> => placed.section.kind === kind;

/** The entry at a path after the sections so far; `gone`: it has another name now. */
type Node = FileEntry | MoveEntry | RemoveEntry | "gone" | "folder";

const isGone = (node: Node | undefined): boolean =>
  node === "gone" || (typeof node === "object" && node.kind === "remove");

const isMove = (node: Node | undefined): node is MoveEntry => typeof node === "object" && node.kind === "move";

const refused = ({ access: { place } }: Pick<FileCall, "access">, why: string) =>
  adapterError("INVALID_INPUT", `"${escapeText(place.path)}" ${why}`, at(place));

export class Planner {
  /** By path. Absent: as it is on the disk. */
  readonly #nodes = new Map<string, Node>();
  readonly #entries: Entry[] = [];
  /** Paths of sections that failed; later sections on these are not looked at. */
  readonly #failed = new Set<string>();

  /** @throws what makes the section fail */
  async add(placed: PlacedSection): Promise<void> {
    const paths = [placed.call, placed.to ?? placed.call].map(({ path }) => path.text);
    if (paths.some((path) => this.#failed.has(path))) return;
    try {
      await this.#plan(placed);
    } catch (error) {
      for (const path of paths) this.#failed.add(path);
      throw error;
    }
  }

  /** @throws NOT_TEXT, TOO_LARGE */
  finish(): readonly PlannedEntry[] {
    return this.#entries.map(planEntry);
  }

  async #plan(placed: PlacedSection): Promise<void> {
    const { section, to } = placed;
    if (is(placed, "add") || is(placed, "write")) return this.#write(placed);
    if (is(placed, "delete")) return this.#remove(placed);
    if (is(placed, "mkdir")) return this.#makeFolder(placed.call);
    if (is(placed, "copy")) return this.#copy(placed);
    if (section.kind !== "move") {
      const file = await this.#fileAt(placed);
      this.#put(await changed(file, placed), this.#nodes.get(placed.call.path.text));
    }
    if (to !== undefined && to.path.text !== placed.call.path.text) await this.#move(placed, to);
    else if (section.kind === "move") throw refused(placed.call, "is moved to where it is. Name another path");
  }

  /** The entry that the sections so far left at a place; `undefined`: as on the disk. */
  #look({ path, access }: FileCall): Node | undefined {
    const { segments, text } = path;
    const node = this.#nodes.get(text);
    if (node !== undefined && !isGone(node)) return node;
    if (this.#below(text).some(([, one]) => !isGone(one))) return "folder";
    if (node !== undefined) return node;
    for (let count = segments.length - 1; count > 0; count--) {
      const prefix = segments.slice(0, count).join("/");
      const above = this.#nodes.get(prefix);
      if (above === undefined || above === "folder") continue;
      if (above === "gone" || above.kind === "remove") return "gone";
      if (above.kind === "move" && above.isFolder) {
        const from = `is in "${escapeText(above.from.path.text)}", which the patch moves`;
        throw refused({ access }, `${from}. Change it first, or in a patch of its own`);
      }
      throw notADirectory({ root: access.place.root, path: prefix });
    }
    return undefined;
  }

  #below(path: string): [string, Node][] {
    return [...this.#nodes].filter(([other]) => other.startsWith(`${path}/`));
  }

  /** Enters the future entry of a place. @param old entry of an earlier section there: both become one change */
  #put(entry: FileEntry | MoveEntry | RemoveEntry, old?: Node): void {
    const at = typeof old === "object" ? this.#entries.indexOf(old) : -1;
    const isThere = typeof old === "object" && old.at.path.text === entry.at.path.text;
    if (at >= 0 && isThere) this.#entries[at] = entry;
    else {
      if (at >= 0) this.#entries.splice(at, 1);
      this.#entries.push(entry);
    }
    this.#nodes.set(entry.at.path.text, entry);
  }

  async #write(placed: Of<"add" | "write">): Promise<void> {
    const { call, section } = placed;
    const { place } = call.access;
    const node = this.#look(call);
    const stat = node === undefined ? await statOnDisk(call) : undefined;
    if (node === "folder") throw isADirectory(place);
    if (section.kind === "add" && !isGone(node) && (node ?? stat) !== undefined) {
      throw alreadyExists(place, ". Use *** Update File:");
    }
    const { executable, content: text } = section;
    const { encoding } = placed;
    const file: FileEntry = { kind: "file", at: call, text, applied: 1, way: "exact", executable, encoding };
    if (stat !== undefined) {
      const original = await textBefore(placed);
      return this.#put({ ...file, disk: { at: call, size: stat.size, expected: expectedIn(placed), original } });
    }
    if (typeof node !== "object") return this.#put(file);
    if (node.kind !== "remove") {
      const { disk, applied } = await this.#fileAt(placed);
      return this.#put({ ...file, disk, applied: applied + 1 }, node);
    }
    if (!node.isFile || this.#isFolderGone(call)) return this.#put(file);
    const { size, expected } = node;
    const original = await textBefore(placed);
    this.#put({ ...file, disk: { at: call, size, expected, original }, applied: 2 }, node);
  }

  /** Whether a folder above is removed by the patch, which must happen before an entry is made below it. */
  #isFolderGone({ path: { segments } }: FileCall): boolean {
    return segments.some((_, at) => isGone(this.#nodes.get(segments.slice(0, at).join("/"))));
  }

  /** The file at a place, to be changed further. @throws NOT_FOUND, IS_A_DIRECTORY, and as a read */
  async #fileAt(placed: PlacedSection): Promise<FileEntry> {
    const { call } = placed;
    const node = this.#look(call);
    if (node === undefined) return this.#firstSeen(placed);
    if (isGone(node)) throw notFound(call.access.place);
    if (typeof node === "string" || node.kind === "remove") throw isADirectory(call.access.place);
    if (node.kind === "file") return node;
    // No precondition is about it.
    return { ...(await fileOnDisk({ encoding: placed.encoding }, node.from)), at: node.at };
  }

  /** @throws INVALID_INPUT for another spelling of a file that a section before has changed, or a link to it */
  async #firstSeen(placed: PlacedSection): Promise<FileEntry> {
    const { call } = placed;
    const file = await fileOnDisk(placed, call);
    const realOf = ({ access, path }: FileCall): string => access.realPath?.join("/") ?? path.text;
    const real = realOf(call);
    const other = this.#entries.find(({ at }) => realOf(at) === real);
    if (other !== undefined) {
      const same = `is the same file as "${escapeText(other.at.path.text)}"`;
      throw refused(call, `${same}. Put all its changes under one name`);
    }
    return file;
  }

  async #remove(placed: Of<"delete">): Promise<void> {
    const { call, section } = placed;
    const node = this.#look(call);
    if (isGone(node)) throw notFound(call.access.place);
    if (section.hunks !== undefined && section.hunks.length > 0) {
      await changed(await this.#fileAt(placed), placed);
    }
    if (typeof node === "object" && node.kind !== "remove") {
      const from = node.kind === "move" ? node.from : node.disk?.at;
      this.#entries.splice(this.#entries.indexOf(node), 1);
      this.#nodes.set(call.path.text, "gone");
      if (from === undefined) return;
      const { size = 0, expected } = node.kind === "move" ? { expected: node.expected } : (node.disk ?? {});
      const isFile = node.kind === "file" || !node.isFolder;
      return this.#put({ kind: "remove", at: from, size, expected, isFile });
    }
    if (node === "folder" && this.#below(call.path.text).some(([, one]) => !isGone(one))) {
      throw notEmpty(call.access.place);
    }
    const stat = node === "folder" ? undefined : await statOnDisk(call, true);
    if (stat?.type === "directory") await this.#requireEmptied(call);
    const isFile = stat?.type === "file" && !stat.symlink;
    this.#put({ kind: "remove", at: call, size: stat?.size ?? 0, expected: expectedIn(placed), isFile });
  }

  /** @throws NOT_EMPTY unless the sections before have taken away all that is in a folder */
  async #requireEmptied(call: FileCall): Promise<void> {
    const depth = call.path.segments.length;
    const paths = this.#below(call.path.text).map(([path]) => path.split("/"));
    const names = new Set(paths.filter(({ length }) => length === depth + 1).map((path) => path[depth]));
    const page = { offset: 0, limit: names.size + 1 };
    const listing = await call.root.backend.list?.(call.path, page, call.access);
    const { entries = [], total = 0, denied = 0 } = listing ?? {};
    const isEmptied = total + denied <= names.size && entries.every(({ name }) => names.has(name));
    if (!isEmptied) throw notEmpty(call.access.place);
  }

  async #makeFolder(call: FileCall): Promise<void> {
    const node = this.#look(call);
    if (typeof node === "object" && node.kind !== "remove") throw existsNotDirectory(call.access.place);
    this.#entries.push({ kind: "mkdir", at: call });
    this.#nodes.set(call.path.text, "folder");
  }

  async #copy(placed: Of<"copy">): Promise<void> {
    const { call, from } = placed;
    if (from === undefined) throw new TypeError("A copy has a source");
    await this.#requireFree(call);
    // The source of a copy in a diff is the file as it was before the whole diff.
    const node = this.#look(from);
    const isOnDisk = node === undefined || typeof node === "string" || node.kind !== "file" || node.disk !== undefined;
    const source = isOnDisk ? await fileOnDisk({ encoding: placed.encoding }, from) : node;
    const { form, text } = source;
    this.#put(await changed({ kind: "file", at: call, copyOf: from, text, form, applied: 1, way: "exact" }, placed));
  }

  async #move(placed: PlacedSection, to: FileCall): Promise<void> {
    const { call } = placed;
    const node = this.#look(call);
    if (isGone(node)) throw notFound(call.access.place);
    const stat = node === undefined ? await statOnDisk(call, true) : undefined;
    const isFolder = node === "folder" || stat?.type === "directory" || (isMove(node) && node.isFolder);
    if (to.path.text.startsWith(`${call.path.text}/`)) {
      if (isFolder) throw invalidInput("'to' lies inside 'path'", "/to", "a path outside of 'path'");
      return this.#moveBelowItself(placed, to);
    }
    if (!isRespelling(call, to)) await this.#requireFree(to);
    this.#nodes.set(call.path.text, "gone");
    if (typeof node === "object" && node.kind !== "remove") return this.#put({ ...node, at: to }, node);
    if (isFolder) for (const [path] of this.#below(call.path.text)) this.#nodes.delete(path);
    this.#put({ kind: "move", from: call, at: to, isFolder, expected: expectedIn(placed) });
  }

  /** Moves a file into a folder that takes its name. */
  async #moveBelowItself(placed: PlacedSection, to: FileCall): Promise<void> {
    const { call } = placed;
    const { disk, ...file } = await this.#fileAt(placed);
    const node = this.#nodes.get(call.path.text);
    if (typeof node === "object") this.#entries.splice(this.#entries.indexOf(node), 1);
    this.#nodes.set(call.path.text, "gone");
    if (disk !== undefined) {
      const { at, size, expected } = disk;
      this.#put({ kind: "remove", at, size, expected, isFile: true });
    }
    const copyOf = disk?.at ?? file.copyOf;
    this.#put({ ...file, replacements: undefined, at: to, applied: Math.max(1, file.applied), copyOf });
  }

  /** @throws ALREADY_EXISTS, IS_A_DIRECTORY unless nothing is there */
  async #requireFree(to: FileCall): Promise<void> {
    const node = this.#look(to);
    if (isGone(node)) return;
    const stat: FileStat | undefined = node === undefined ? await statOnDisk(to) : undefined;
    if ((node ?? stat) !== undefined) {
      throw alreadyExists(to.access.place, ". Delete it first, or choose another name");
    }
  }
}

/** Whether a move may only change the spelling of a name; the commit finds out whether it does. */
function isRespelling(from: FileCall, to: FileCall): boolean {
  const fold = ({ path }: FileCall): string => path.text.normalize("NFC").toLowerCase();
  return to.root.backend.foldsCase === true && fold(from) === fold(to);
}
