import type { Ability } from "../core/call/capability.js";
import { adapterError, FileAdapterError } from "../core/errors/errors.js";
import { escapeText, invalidInput, at as placeAt } from "../core/errors/texts.js";
import { unkeptText } from "../core/errors/undo-texts.js";
import { counted } from "../core/errors/wording.js";
import { etagOf, expectedOf } from "../core/etag.js";
import type { Rendering } from "../core/ports/adapter.js";
import type { GroupEffect, ReadBackend } from "../core/ports/backend.js";
import type { FileCall, Operation, PathCall, PlacesCall } from "../core/ports/operation.js";
import type { PatchInput, PatchOutput } from "../schema/types.js";
import { checkEncoding } from "./content/encoding.js";
import { versionOf } from "./content/file-etag.js";
import { inTurn } from "./editing/plan.js";
import { diffLines, mostDiffChars } from "./editing/unified-diff.js";
import type { PlannedEntry } from "./patching/entries.js";
import { sectionsOf } from "./patching/input.js";
import type { PlacedSection } from "./patching/on-disk.js";
import { Planner } from "./patching/planner.js";
import { mayLeaveAsIs, type Section } from "./patching/section.js";
import { refuseTwinFolders } from "./searching/alike.js";

/** Most bytes of all files that a patch changes or deletes. */
const MAX_KEPT_BYTES = 67_108_864;
/** Failing sections that an error names. */
const MAX_FAILED = 10;
/** Errors that fail the whole call, whatever its sections are. */
const OF_THE_CALL: ReadonlySet<string> = new Set([
  ...["UNKNOWN_ROOT", "READ_ONLY_ROOT", "DRIVE_REQUIRES_AUTH", "STORE_UNAVAILABLE", "ABORTED", "TIMEOUT"],
]);

/** `patch`: changes several files of one root, all or none. */
export const patch: Operation<PatchInput, PatchOutput> = {
  name: "patch",
  on: "places",
  ability: "crud/write",
  changes: true,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  hidden: ["patch", "changes"],
  check(input) {
    sectionsOf(input);
    checkEncoding(input.encoding);
    for (const ifMatch of Object.values(input.ifMatch ?? {})) expectedOf({ ifMatch });
  },
  async run(input, call) {
    // Every place is authorised before the disk is touched.
    const once = await collect(sectionsOf(input), (section) => placeSection(section, { input, mayTell: false }, call));
    // Sections of one file may take back each other's changes, and so test the content without changing it.
    const mayTell = ofRepeatedPaths(once);
    const placed = await collect(once, (one) =>
      mayTell(one) ? placeSection(one.section, { input, mayTell: true }, call) : one,
    );
    requireKnown(input, placed);
    const [first] = placed;
    if (first === undefined) throw new TypeError("A patch has sections");
    const isDry = input.dryRun === true;
    const work = async () => {
      await collect(placed, refuseTwinsOf);
      return apply(placed, first.call, isDry);
    };
    const places = placed.flatMap(({ call: at, to = at, from = at }) => [at, to, from]);
    return isDry ? work() : inTurn([first.call, ...places], work);
  },
  render,
};

type Placed = PlacedSection<PathCall>;

async function refuseTwinsOf({ section: { kind }, call, to }: Placed): Promise<void> {
  const made = to ?? (kind === "add" || kind === "write" || kind === "copy" || kind === "mkdir" ? call : undefined);
  if (made !== undefined) await refuseTwinFolders(made);
}

/** Plans the sections on one state of their root, and changes it. */
async function apply(placed: readonly Placed[], first: PathCall, isDry: boolean): Promise<PatchOutput> {
  const { backend } = first.root;
  const plan = async (state: ReadBackend) => {
    const planner = new Planner();
    await collect(placed, (one) => planner.add(placedOn(state, one)));
    return planner.finish();
  };
  const planned = await (backend.onOneState?.(
    placed.map(({ call: at }) => at),
    plan,
  ) ?? plan(backend));
  const kept = planned.reduce((sum, { keptBytes }) => sum + keptBytes, 0);
  if (kept > MAX_KEPT_BYTES) {
    const told = `The files that a patch changes may have ${MAX_KEPT_BYTES} bytes together, not ${kept}. Divide it`;
    throw adapterError("TOO_LARGE", told, { ...placeAt(first.access.place), size: kept, limit: MAX_KEPT_BYTES });
  }
  const changes = planned.flatMap((one) => one.changes);
  if (isDry) await backend.checkAll?.(changes);
  const effects = isDry ? [] : await backend.changeAll(changes);
  return answer(planned, { effects, isDry });
}

/** A section whose reads all come from one state of its root. */
function placedOn(backend: ReadBackend, placed: Placed): PlacedSection {
  const on = (place: FileCall): FileCall => ({ ...place, root: { ...place.root, backend } });
  const { call, to, from } = placed;
  return { ...placed, call: on(call), to: to && on(to), from: from && on(from) };
}

/** Runs `work` for every section. @throws an error that lists all sections that fail */
async function collect<T, R>(all: readonly T[], work: (one: T) => R | Promise<R>): Promise<R[]> {
  const done: R[] = [];
  const failed: FailedSection[] = [];
  for (const [index, one] of all.entries()) {
    try {
      done.push(await work(one));
    } catch (error) {
      if (!(error instanceof FileAdapterError) || OF_THE_CALL.has(error.code)) throw error;
      failed.push({ section: index + 1, error });
    }
  }
  if (failed.length > 0) throw patchFailed(failed, all.length);
  return done;
}

interface FailedSection {
  /** 1-based. */
  readonly section: number;
  readonly error: FileAdapterError;
}

/** The error of a patch of which some sections fail; nothing has been changed. The code is that of the first. */
function patchFailed(failed: readonly FailedSection[], of: number): FileAdapterError {
  const [first, ...others] = failed;
  if (first === undefined) throw new TypeError("No section failed");
  const { code, data, message } = first.error;
  const where = of === 1 ? "" : `Section ${first.section} of ${of}: `;
  const more = others.slice(0, MAX_FAILED - 1);
  const hint = more.map(({ section, error }) => `Section ${section}: ${error.message} [${error.code}]`).join("\n");
  const count = others.length === 0 ? "" : `. ${counted(others.length, "more section fails", "more sections fail")}`;
  return adapterError(code, where + message + count, {
    ...data,
    section: first.section,
    failures: failed
      .slice(0, MAX_FAILED)
      .map(({ section, error }) => ({ section, ...error.data, code: error.code, message: error.message })),
    ...(hint === "" ? {} : { hint }),
  });
}

/** Whether a section has a path that another one has too. */
function ofRepeatedPaths(placed: readonly Placed[]): (one: Placed) => boolean {
  const counts = new Map<string, number>();
  const pathsOf = ({ call, to = call }: Placed): Set<string> => new Set([call.path.text, to.path.text]);
  for (const one of placed) for (const path of pathsOf(one)) counts.set(path, (counts.get(path) ?? 0) + 1);
  return (one) => [...pathsOf(one)].some((path) => (counts.get(path) ?? 0) > 1);
}

/** @param how `mayTell`: whether it was made could tell what is there */
function placeSection(
  section: Section,
  { input, mayTell }: { input: PatchInput; mayTell: boolean },
  call: PlacesCall,
): Placed {
  const { root, path: base = "", dryRun, ifMatch } = input;
  const read: readonly Ability[] = dryRun === true || mayTell || mayLeaveAsIs(section) ? ["crud/read"] : [];
  const at = (path: string, abilities: readonly Ability[]): PathCall =>
    call.at({ root, path, base, abilities: [...new Set([...abilities, ...read])], changes: true });
  const to = "to" in section ? section.to : undefined;
  const needed: readonly Ability[] = to !== undefined ? ["crud/read", "crud/delete"] : [abilityFor(section)];
  const placed = at(section.path, needed);
  const etag =
    ifMatch &&
    Object.entries(ifMatch).find(
      ([path]) => path === section.path || plainPath(joinPath(base, path)) === placed.path.text,
    )?.[1];
  return {
    section,
    call: placed,
    to: to === undefined ? undefined : at(to, ["crud/write"]),
    from: section.kind === "copy" ? at(section.from, ["crud/read"]) : undefined,
    ifMatch: etag,
    encoding: input.encoding,
  };
}

const abilityFor = ({ kind }: Section): Ability => (kind === "delete" ? "crud/delete" : "crud/write");

const joinPath = (base: string, path: string): string => (base === "" ? path : `${base}/${path}`);

const plainPath = (path: string): string =>
  path
    .split("/")
    .filter((name) => name !== "" && name !== ".")
    .join("/");

/** @throws INVALID_INPUT for a precondition on a path that the patch does not change */
function requireKnown({ ifMatch = {}, path: base = "" }: PatchInput, placed: readonly Placed[]): void {
  const known = new Set(placed.map(({ call }) => call.path.text));
  const written = new Set(placed.map(({ section }) => section.path));
  for (const path of Object.keys(ifMatch)) {
    if (written.has(path) || known.has(plainPath(joinPath(base, path)))) continue;
    throw invalidInput(
      `'ifMatch' names "${escapeText(path)}", which the patch does not change`,
      "/ifMatch",
      "paths of the patch",
    );
  }
}

function answer(
  planned: readonly PlannedEntry[],
  { effects, isDry }: { effects: readonly GroupEffect[]; isDry: boolean },
): PatchOutput {
  let next = 0;
  const files = planned.map(({ file, changes, sha256, at }) => {
    const done = effects.slice(next, next + changes.length);
    next += changes.length;
    const after = done.at(-1)?.sha256 ?? sha256;
    if (after === undefined || !at.access.holds("crud/read")) return file;
    return { ...file, etag: versionOf(after, at).etag ?? etagOf(after) };
  });
  const applied = planned.reduce((sum, one) => sum + one.applied, 0);
  const diff = diffOf(planned, mostDiffChars({ budget: planned[0]?.at.budget }));
  const hint = planned.find((one) => one.hint !== undefined)?.hint;
  return { files, applied, ...diff, ...(isDry ? { dryRun: true } : {}), ...(hint === undefined ? {} : { hint }) };
}

/** The diffs of all files that the caller may read, cut after a whole line. */
function diffOf(planned: readonly PlannedEntry[], maxChars: number): { diff: string; diffTruncated: boolean } {
  let diff = "";
  for (const one of planned) {
    for (const line of linesOf(one)) {
      if (diff.length + line.length > maxChars) return { diff, diffTruncated: true };
      diff += line;
    }
  }
  return { diff, diffTruncated: false };
}

function* linesOf({ file: { path, from = path, action }, diff, executable }: PlannedEntry): Generator<string> {
  const name = escapeText(path);
  if (action === "move") yield `rename from ${escapeText(from)}\nrename to ${name}\n`;
  if (executable !== undefined) yield `${name} may ${executable ? "" : "not "}be run\n`;
  if (action === "delete") yield `--- ${name}\n+++ /dev/null\n`;
  if (diff === undefined) return;
  let isFirst = true;
  for (const line of diffLines(diff.text, diff.replacements)) {
    if (isFirst) yield `--- ${action === "add" ? "/dev/null" : escapeText(from)}\n+++ ${name}\n`;
    isFirst = false;
    yield line;
  }
}

const SIGNS = { add: "A", modify: "M", delete: "D", move: "R" } as const;

function render(output: PatchOutput): Rendering {
  const { diff = "", files, ...rest } = output;
  const list = files.map(({ path, from, action, etag }) => {
    const names = from === undefined ? escapeText(path) : `${escapeText(from)} → ${escapeText(path)}`;
    return `${SIGNS[action]} ${names}${etag === undefined ? "" : ` ${etag}`}`;
  });
  const isDry = output.dryRun === true;
  const cut = output.diffTruncated === true ? "Cut: the diff is longer. Read the files for the rest" : undefined;
  const dry = isDry ? "dry run, nothing written" : undefined;
  const note = [cut, dry, unkeptText(output), output.hint].filter((part) => part !== undefined).join("; ");
  const text = `${list.join("\n")}\n${diff === "" ? "" : `\n${diff}`}`;
  return { kind: "text", text, rest: { files, ...rest }, ...(note === "" ? {} : { note }) };
}
