// One request of WebDAV: its target, its caller, and the operations it runs.

import { attribute } from "../../../core/call/attribute.js";
import type { Caller } from "../../../core/call/caller.js";
import type { CallTerms } from "../../../core/call/terms.js";
import type { JsonObject, SurfaceContext } from "../../../core/ports/adapter.js";
import type { TakeDownload, UploadBody } from "../../../core/ports/streams.js";
import type { Uploaded } from "../../../core/ports/transfer.js";
import type { ListOutput, RootsOutput, StatOutput } from "../../../schema/types.js";
import type { HttpDav, HttpHost } from "../host.js";
import { hangUpOf } from "../plumbing/connection.js";
import { entranceOf } from "../plumbing/entrance.js";
import type { Exchange } from "../plumbing/exchange.js";
import { badRequest, HttpError } from "../plumbing/http-error.js";
import { davError, errorCodeOf } from "./errors.js";
import type { Locks, Named } from "./locks/locks.js";
import type { Checksums } from "./properties/checksums.js";
import type { DeadProperties } from "./properties/dead.js";
import type { Spot } from "./spot.js";
import { addressOf, hrefOf, parentOf, pathText, type Target, targetOf } from "./target.js";

type RootFactsOfDav = NonNullable<ReturnType<HttpDav["root"]>>;

/** Entries of a directory, behind a name. */
type Page = { readonly limit: number; readonly after?: string };

/** Methods that change nothing; a missing directory in a path is 404 there, else 409. */
const READING = ["GET", "HEAD", "PROPFIND", "OPTIONS"];

/** Methods that change, or bring, all that is below a place. */
const DEEP = ["MKCOL", "DELETE", "COPY", "MOVE"];

/** Where a file or directory is, or that there is none. */
export interface Found {
  readonly type: string;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modified: number;
  readonly created?: number | undefined;
  readonly mime?: string | undefined;
  /** `sha256:` and 64 hex digits, where it is known. */
  readonly hash?: string | undefined;
  /** Tag of its version stamp, where it has one. */
  readonly tag?: string | undefined;
}

/** Entries of a directory, with the media types of files where they are known. */
export interface DavListing extends Omit<ListOutput, "entries"> {
  readonly entries: readonly (ListOutput["entries"][number] & Pick<Found, "mime" | "tag">)[];
}

/** State that all WebDAV requests of a venue share. */
export interface DavState {
  readonly dav: HttpDav;
  readonly locks: Locks;
  readonly properties: DeadProperties;
  readonly checksums: Checksums;
  /** Follows the names of trees that each instance has for itself. */
  readonly instance: string;
}

/** A request with its target, and the operations that it runs as its caller. */
export class DavCall {
  readonly host: HttpHost;
  readonly dav: HttpDav;
  readonly locks: Locks;
  properties: DeadProperties;
  readonly checksums: Checksums;
  readonly exchange: Exchange;
  readonly target: Target;
  readonly #instance: string;
  readonly #context: SurfaceContext;
  /** The last tree that was asked for: that of each entry of a listing. */
  #tree: { readonly space: Target["space"]; readonly root: string; readonly name: string } | undefined;
  #prefix: string | undefined;
  #known: { readonly root: string; readonly facts: RootFactsOfDav | undefined } | undefined;

  /** @throws HttpError 400 */
  constructor(host: HttpHost, { dav, locks, properties, checksums, instance }: DavState, exchange: Exchange) {
    this.host = host;
    this.dav = dav;
    this.locks = locks;
    this.properties = properties;
    this.checksums = checksums;
    this.exchange = exchange;
    this.#instance = instance;
    this.target = targetOf(exchange.request.raw.url ?? "");
    const signal = hangUpOf(exchange.reply);
    const { context } = attribute(exchange.caller, undefined, host.nameCaller);
    // A mounted folder is made where it is made, whatever it is called.
    this.#context = { ...context, surface: "webdav", signal, isInternal: true, exactPaths: true };
  }

  get caller(): Caller {
    return this.exchange.caller;
  }

  /** The URL of a place at the entrance by which the request came, without scheme and host. */
  hrefOf(place: Named, isCollection: boolean): string {
    this.#prefix ??= entranceOf(this.host, this.exchange.request.raw).prefix;
    return hrefOf(this.#prefix, place, isCollection);
  }

  /** A place as locks and properties know it: two URLs of one drive are one, and so are two spellings where names fold. */
  spotOf(place: Named): Spot {
    const { space, root = "", segments } = place;
    let known = this.#tree;
    if (known?.root !== root || known.space !== space) {
      const drive = this.driveOf(place);
      const ofInstance = this.#isOfInstance(place) ? this.#instance : "";
      const name = drive === undefined ? `root ${root}${ofInstance}` : `drive ${drive} of ${this.caller.did}`;
      known = { space, root, name };
      this.#tree = known;
    }
    const fold = space === "dav" ? this.#facts(root)?.foldName : undefined;
    return { tree: known.name, segments: fold === undefined ? segments : segments.map(fold) };
  }

  /** Looks at locks and properties of places as other instances have left them. @param places absent: those of the request */
  async look(places?: readonly Named[]): Promise<void> {
    if (this.dav.makeLocks === undefined) return;
    const found = (places ?? this.#places()).filter(({ root }) => root !== undefined);
    const spots = found.filter((place) => !this.#isOfInstance(place)).map((place) => this.spotOf(place));
    const { method } = this.exchange.request;
    const reach = DEEP.includes(method) ? "all" : method === "PROPFIND" && this.depth === "1" ? "members" : "own";
    const trees = found.map((place) => this.spotOf(place).tree);
    this.properties = (await this.locks.look({ trees, spots, reach })) ?? this.properties;
  }

  /** Places that the request is about. */
  #places(): readonly Named[] {
    const { target, host, exchange } = this;
    const header = exchange.request.headers["destination"];
    const to = typeof header === "string" ? addressOf(header, host, exchange.request.raw) : undefined;
    return to === undefined || to === "other host" ? [target] : [target, to];
  }

  /** Whether each instance has other files there. */
  #isOfInstance({ space, root = "" }: Named): boolean {
    return space === "dav" && this.#facts(root)?.kind === "temp";
  }

  /** Name of the drive that a place is on; `undefined`: it is on none. */
  driveOf({ space, root = "" }: Named): string | undefined {
    return space === "dav" ? this.#facts(root)?.drive : root;
  }

  /** @throws HttpError 409 for an entry of a drive that does not exist; operations would make the drive */
  async requireDrive({ space, root = "", segments }: Named): Promise<void> {
    if (space !== "dlfs" || segments.length !== 1 || (await this.names("dlfs")).includes(root)) return;
    throw new HttpError(409, "There is no such drive. Make it with MKCOL");
  }

  /** Whether nothing can be changed in a root. */
  isReadOnly({ space, root = "" }: Named): boolean {
    return space === "dav" && this.#facts(root)?.readOnly === true;
  }

  /** Asked for each entry of a listing. */
  #facts(root: string): RootFactsOfDav | undefined {
    if (this.#known?.root !== root) this.#known = { root, facts: this.dav.root(root) };
    return this.#known.facts;
  }

  /** Whether the collection around a place is locked itself, so that members must not come or go. */
  needsParentLock(place: Named): boolean {
    const parent = parentOf(place);
    return parent?.root !== undefined && this.locks.on(this.spotOf(parent)).length > 0;
  }

  /** Ends locks and properties at and below a place that is gone. */
  forget(place: Named): void {
    const spot = this.spotOf(place);
    for (const lock of [...this.locks.on(spot), ...this.locks.below(spot)]) this.locks.remove(lock);
    this.properties.drop(spot);
  }

  /** The value of a header; `undefined` if it is absent. @throws HttpError 400 if it is repeated */
  header(name: string): string | undefined {
    const value = this.exchange.request.headers[name];
    if (Array.isArray(value)) throw badRequest(`Header ${name} is given more than once`);
    return value;
  }

  /** The header `Depth` in lower case; `infinity` if it is absent (RFC 4918, 10.2). */
  get depth(): string {
    return this.header("depth")?.trim().toLowerCase() ?? "infinity";
  }

  /** Whether a request is about all that is in a collection. @throws HttpError 400 if `Depth` is neither 0 nor infinity */
  get isDeep(): boolean {
    const { depth } = this;
    if (depth === "0" || depth === "infinity") return depth === "infinity";
    throw badRequest(`Depth of ${this.exchange.request.method} must be 0 or infinity`);
  }

  /** @param more `listsTypes`: with the media types of files; `tags`: with those of their versions */
  async list(place: Named, page: Page, more: Pick<CallTerms, "listsTypes" | "tags"> = {}): Promise<DavListing> {
    return (await this.run("list", place, page, { terms: more })) as DavListing;
  }

  /** `undefined` if there is nothing. @param isHashed reads a file to tell its hash */
  async stat(place: Named, isHashed = false): Promise<Found | undefined> {
    const more = isHashed ? { hash: true } : {};
    const found = (await this.run("stat", place, more, { terms: { details: true, tags: true } })) as StatOutput;
    if (!found.exists) return undefined;
    return { type: "other", size: 0, modified: 0, ...found };
  }

  /** Names of the roots or drives that the caller sees. */
  async names(space: Target["space"]): Promise<readonly string[]> {
    if (space === "top") return ["dav", "dlfs"];
    if (space === "dav") return (await this.roots()).map(({ name }) => name);
    const { drives } = (await this.#invoke("dlfs:list-drives", {})) as { drives: readonly string[] };
    return drives;
  }

  /** The roots that the caller holds something in. */
  async roots(): Promise<RootsOutput["roots"]> {
    const { roots } = (await this.#invoke("file:roots", {})) as RootsOutput;
    return roots;
  }

  async download(place: Named, take: TakeDownload): Promise<void> {
    await this.run("download", place, {}, { transfer: { take }, terms: { tags: true } });
  }

  async upload(place: Named, body: UploadBody, options: JsonObject): Promise<Uploaded> {
    return (await this.run("upload", place, options, { transfer: { body } })) as Uploaded;
  }

  /** Runs an operation at a place below a root. @throws HttpError */
  async run(operation: string, place: Named, input: JsonObject = {}, more: SurfaceContext = {}): Promise<unknown> {
    const { space, root } = place;
    if (root === undefined || space === "top") throw new HttpError(403, "Only what is below a root can be used so");
    const named = space === "dav" ? { root } : { drive: root };
    const adapter = space === "dav" ? "file" : "dlfs";
    return this.#invoke(`${adapter}:${operation}`, { ...named, path: pathText(place), ...input }, more);
  }

  /** Runs an operation on the drive itself. */
  runOnDrive(operation: string, drive: string): Promise<unknown> {
    return this.#invoke(`dlfs:${operation}`, { drive });
  }

  async #invoke(operation: string, input: JsonObject, more: SurfaceContext = {}): Promise<unknown> {
    try {
      return await this.dav.invoke(operation, input, { ...this.#context, ...more });
    } catch (error) {
      const isReading = READING.includes(this.exchange.request.method);
      throw davError(error, { isReading, isPublic: this.caller.authentication === "public" });
    }
  }
}

/** Like a promise of an operation, but `undefined` for the errors with these codes. */
export async function undefinedFor<T>(codes: readonly string[], work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (codes.includes(errorCodeOf(error))) return undefined;
    throw error;
  }
}
