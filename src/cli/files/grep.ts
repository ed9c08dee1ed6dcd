// The `grep` command.

import { attempt } from "../../core/io.js";
import type { FileInputs, FileOutputs } from "../../schema/types.js";
import { type FilePlace, numberOf, placeOf, placeText } from "../arguments/files.js";
import { UsageError } from "../arguments/options.js";
import { escapeMatch, type GrepEnd, type GrepLook, grepLines } from "../output/grep-lines.js";
import { plain } from "../output/paint.js";
import { warnIncomplete } from "./search.js";
import { type FileSession, forEachItem, type Given, pagesOf, printJson } from "./session.js";

const PAGE = 2000;
const MAX_MS = 60_000;
/** Exit statuses of grep(1). */
const STATUS = { found: 0, nothing: 1, failed: 2 } as const;

type GrepRequest = Omit<Given<FileInputs["file:grep"]>, "root" | "path" | "cursor">;

/** `grep` */
export async function grep(session: FileSession<"grep">): Promise<number> {
  const { values, words } = session;
  const given = values.regexp;
  const [pattern = "", ...rest] = given === undefined ? words : [given, ...words];
  if (pattern === "" || rest.length === 0) {
    throw new UsageError("'grep' takes PATTERN and ROOT:PATH: venue-files grep PATTERN ROOT:PATH");
  }
  const wish = parseRequest(session, pattern);
  const look = await lookOf(session, wish);
  let isFound = false;
  const status = await forEachItem(rest.map(placeOf), session, async (place) => {
    if (await search(session, place, { wish, look })) isFound = true;
  });
  return status === 0 ? (isFound ? STATUS.found : STATUS.nothing) : STATUS.failed;
}

function parseRequest({ values }: FileSession<"grep">, pattern: string): GrepRequest {
  const [glob, exclude] = [values.include.map(anyDepthGlob), values.exclude.map(anyDepthGlob)];
  return {
    ...{ pattern, limit: PAGE, timeoutMs: MAX_MS },
    output: values["files-with-matches"] ? "files" : values.count ? "count" : "lines",
    literal: values["fixed-strings"] || undefined,
    ignoreCase: values["ignore-case"] || undefined,
    documents: values.documents || undefined,
    ignore: values["no-ignore"] ? "none" : undefined,
    before: numberOf("before-context", values["before-context"]),
    after: numberOf("after-context", values["after-context"]),
    context: numberOf("context", values.context),
    glob: glob.length === 0 ? undefined : glob,
    exclude: exclude.length === 0 ? undefined : exclude,
  };
}

/** A glob without a slash matches names at any depth. */
const anyDepthGlob = (glob: string): string => (glob.includes("/") ? glob : `**/${glob}`);

async function lookOf({ values, paint }: FileSession<"grep">, wish: GrepRequest): Promise<GrepLook> {
  const context = [wish.before, wish.after, wish.context].some((lines) => lines !== undefined && lines > 0);
  const mark = paint === plain ? escapeMatch : await createMarker(wish, (text) => paint(text, "match"));
  return { paint, numbers: values["line-number"], context, mark };
}

/** Highlights matches, using the same engine as the search. */
async function createMarker(
  { pattern, literal, ignoreCase }: GrepRequest,
  paint: (text: string) => string,
): Promise<(text: string) => string> {
  const { RE2JS } = await import("re2js");
  const text = literal === true ? RE2JS.quote(pattern) : pattern;
  // The search itself reports an invalid pattern.
  const re = attempt(() => RE2JS.compile(text, ignoreCase === true ? 1 : 0));
  if (re === undefined) return escapeMatch;
  return (text) => {
    const matcher = re.matcher(text);
    let made = "";
    let at = 0;
    while (matcher.find()) {
      made +=
        escapeMatch(text.slice(at, matcher.start())) + paint(escapeMatch(text.slice(matcher.start(), matcher.end())));
      at = matcher.end();
    }
    return made + escapeMatch(text.slice(at));
  };
}

/** Fetches all pages. @returns whether there was any match */
async function search(
  session: FileSession,
  place: FilePlace,
  { wish, look }: { wish: GrepRequest; look: GrepLook },
): Promise<boolean> {
  let isFound = false;
  let binary = 0;
  let last: GrepEnd | undefined;
  for await (const page of pagesOf(session, "file:grep", { ...place, ...wish })) {
    isFound ||= page.totalMatches > 0;
    binary += Number(page.hidden?.binary ?? 0);
    last = await showPage(session, page, { place, look, last });
    if (page.nextCursor === undefined && !page.complete) warnIncomplete(session, place, page);
  }
  if (binary > 0 && !session.json) {
    session.context.stderr.write(`venue-files: ${placeText(place)}: left out: ${binary} binary\n`);
  }
  return isFound;
}

async function showPage(
  session: FileSession,
  page: FileOutputs["file:grep"],
  { place: { root }, look, last }: { place: FilePlace; look: GrepLook; last: GrepEnd | undefined },
): Promise<GrepEnd | undefined> {
  if (session.json) return printJson(session, page);
  const { matches = [], paths = [], counts = [] } = page;
  const name = (path: string): string => look.paint(placeText({ root, path }), "place");
  const files = paths.map((path) => `${name(path)}\n`).join("");
  const sums = counts.map(({ path, count }) => `${name(path)}:${count}\n`).join("");
  const lines = grepLines(root, matches, { look, last });
  await session.out(files + sums + lines.text);
  return lines.last;
}
