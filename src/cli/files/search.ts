// The commands `find` and `du`.

import { escapeText } from "../../core/errors/texts.js";
import { humanSize } from "../../ops/content/human-size.js";
import { type FilePlace, numberOf, placesOf, placeText } from "../arguments/files.js";
import { UsageError } from "../arguments/options.js";
import { type FileSession, forEachItem, pagesOf, printJson } from "./session.js";

const PAGE = 5000;
const MAX_MS = 60_000;
const MAX_SUMS = 10_000;
const TYPES: Readonly<Record<string, "file" | "directory">> = { f: "file", d: "directory" };

/** Warns on standard error that an answer is incomplete. */
export function warnIncomplete(session: FileSession, place: FilePlace, { reason, hint }: Incompleteness): void {
  const why = [reason ?? "error", ...(hint === undefined ? [] : [hint])].map(escapeText).join("; ");
  session.context.stderr.write(`venue-files: ${placeText(place)}: not complete: ${why}\n`);
}

interface Incompleteness {
  readonly reason?: string | undefined;
  readonly hint?: string | undefined;
}

/** `find` */
export async function find(session: FileSession<"find">): Promise<number> {
  const { values } = session;
  const type = values.type;
  if (type !== undefined && TYPES[type] === undefined) throw new UsageError("-type takes f or d");
  const pattern = findGlobs({
    names: [...values.name, ...values.iname.map(ignoreCaseGlob)],
    paths: values.path,
    maxDepth: numberOf("maxdepth", session.values.maxdepth),
  });
  const places = placesOf(session);
  if (pattern === undefined) return 0;
  const wish = { pattern: [...pattern], type: TYPES[type ?? ""] ?? ("any" as const), ignore: "none" as const };
  return forEachItem(places, session, async (place) => {
    const input = { ...place, ...wish, limit: PAGE, timeoutMs: MAX_MS };
    for await (const page of pagesOf(session, "file:glob", input)) {
      await showPage(session, place, page);
      if (page.nextCursor === undefined && !page.complete) warnIncomplete(session, place, page);
    }
  });
}

async function showPage(session: FileSession, { root }: FilePlace, page: { paths: readonly string[] }): Promise<void> {
  if (session.json) return printJson(session, page);
  const lines = page.paths.map((path) => {
    const text = placeText({ root, path: path.replace(/\/$/, "") });
    return `${path.endsWith("/") ? session.paint(text, "directory") : text}\n`;
  });
  await session.out(lines.join(""));
}

/** `du` */
export async function du(session: FileSession<"du">): Promise<number> {
  const { values, isTerminal } = session;
  const isHuman = values["human-readable"] || (isTerminal && !values.bytes);
  const shown = (bytes: number): string => (isHuman ? humanSize(bytes) : String(bytes));
  const depth = values.summarize ? 0 : (numberOf("max-depth", values["max-depth"]) ?? 1);
  return forEachItem(placesOf(session), session, async (place) => {
    const input = { ...place, depth, limit: MAX_SUMS, timeoutMs: MAX_MS };
    const output = await session.invoke("file:du", input);
    if (session.json) await printJson(session, output);
    else {
      const children = output.children.filter(({ path }) => values.all || path.endsWith("/"));
      // As du(1): contents first, the total last.
      const lines = children.map(({ path, bytes }) => {
        const text = placeText({ root: place.root, path: path.replace(/\/$/, "") });
        return `${shown(bytes)}\t${path.endsWith("/") ? session.paint(text, "directory") : text}\n`;
      });
      await session.out(`${lines.reverse().join("")}${shown(output.bytes)}\t${placeText(place)}\n`);
    }
    if (!output.complete) warnIncomplete(session, place, output);
  });
}

/** Maximum number of patterns in a search; each level of `-maxdepth` takes one per name. */
const MAX_DEPTH = 20;
/** Characters special in globs of operations, but literal in those of `find`. */
const LITERAL = /[{}()|]/g;

export interface FindTests {
  /** Globs matched against the file name (`-name`). */
  readonly names: readonly string[];
  /** Globs matched against the path from the start (`-path`). */
  readonly paths: readonly string[];
  readonly maxDepth: number | undefined;
}

/** Translates options of `find` into patterns of `file:glob`. `undefined`: nothing can match. @throws UsageError */
export function findGlobs({ names, paths, maxDepth }: FindTests): readonly string[] | undefined {
  if (names.length > 0 && paths.length > 0) throw new UsageError("'find' takes either -name or -path");
  if (paths.length > 0) {
    if (maxDepth !== undefined) throw new UsageError("'find' takes -maxdepth with -name, not with -path");
    return paths.map((path) => (path.includes("/") ? path : `./${path}`));
  }
  const own = (names.length === 0 ? ["*"] : names).map(nameGlob);
  if (maxDepth === undefined) return own.map((glob) => `**/${glob}`);
  if (maxDepth === 0) return undefined;
  if (maxDepth * own.length > MAX_DEPTH) {
    throw new UsageError(`-maxdepth can be at most ${Math.floor(MAX_DEPTH / own.length)} here`);
  }
  return own.flatMap((glob) => Array.from({ length: maxDepth }, (_, depth) => `./${"*/".repeat(depth)}${glob}`));
}

function nameGlob(name: string): string {
  if (name.includes("/")) throw new UsageError("-name takes the glob of a name; for a path there is -path");
  const plain = name.replace(LITERAL, "\\$&");
  return plain.startsWith("!") ? `\\${plain}` : plain;
}

/** A glob that matches in any case: each letter becomes a class of both its forms (`-iname`). */
export const ignoreCaseGlob = (name: string): string =>
  name.replace(/\\.|\[([!^]?)(\]?[^\]]*)\]|\p{L}/gsu, (found, not: string | undefined, members: string | undefined) => {
    if (found.startsWith("\\")) return found;
    if (members !== undefined) return `[${not}${members}${swapCase(members)}]`;
    const other = swapCase(found);
    return other === found ? found : `[${found}${other}]`;
  });

const swapCase = (text: string): string =>
  [...text].map((one) => (one === one.toLowerCase() ? upperCaseOf(one) : one.toLowerCase())).join("");

/** Only letters whose other form is one letter too. */
const upperCaseOf = (letter: string): string =>
  [...letter.toUpperCase()].length === 1 ? letter.toUpperCase() : letter;
