import { invalidPattern } from "../core/errors/texts.js";
import { type Operation, READS } from "../core/ports/operation.js";
import type { GrepInput, GrepOutput } from "../schema/types.js";
import { Patience } from "../search/entry-filter.js";
import { checkEncoding } from "./content/encoding.js";
import { type GrepCall, searchLines } from "./searching/grep-run.js";
import { renderGrep } from "./searching/grep-text.js";
import { meantGlobs, withMeantExclude } from "./searching/meant-globs.js";
import { expressionReadings, fileReadings, linksReadings, type Reading } from "./searching/readings.js";
import { baseOf, isEmptyHanded, patienceMs, withReading } from "./searching/search.js";

const PATIENCE_MS = 10_000;
const MAX_CHARS = 1000;

/** `grep`: finds lines by an expression or a literal. */
export const grep: Operation<GrepInput, GrepOutput> = {
  name: "grep",
  on: "places",
  ...READS,
  looksInArchives: true,
  check: ({ encoding }) => checkEncoding(encoding),
  patienceMs: (input, limits) => patienceMs(input.timeoutMs, PATIENCE_MS, limits),
  async run(asked, call) {
    const base = baseOf(asked, call);
    checkPattern(asked.pattern);
    const { glob } = asked;
    const globs = glob === undefined ? asked : { ...asked, glob: meantGlobs(glob, base, call) };
    const input = withMeantExclude(globs, base, call);
    const patience = new Patience(base.access.scope, patienceMs(input.timeoutMs, PATIENCE_MS, call.limits));
    const search = { base, call, patience };
    const output = await searchLines(input, search);
    if (!isEmptyHanded(input, output) || call.terms !== undefined) return output;
    const isUnscoped = output.filesScanned === 0;
    const readings = isUnscoped ? scopeReadings(input, base.path.text) : expressionReadings(input);
    return withReading<GrepOutput, GrepInput>(output, [linksReadings(input, output), readings], {
      patience,
      finds: (change) => fills({ ...input, ...change }, { search, isUnscoped }),
    });
  },
  render: renderGrep,
};

function checkPattern(pattern: string): void {
  if (pattern === "") throw invalidPattern(pattern, "it is empty");
  if (!pattern.isWellFormed()) throw invalidPattern(pattern, "not valid Unicode");
  if (pattern.length > MAX_CHARS) {
    throw invalidPattern(`${pattern.slice(0, 40)}…`, `longer than ${MAX_CHARS} characters`);
  }
}

function* scopeReadings({ glob }: GrepInput, path: string): Generator<Reading<GrepInput>> {
  if (glob === undefined) return;
  for (const { why, patterns } of fileReadings(glob, path)) yield { why, change: { glob: patterns } };
}

/** @param isUnscoped whether files are missing, not matches */
async function fills(
  input: GrepInput,
  { search, isUnscoped }: { search: GrepCall; isUnscoped: boolean },
): Promise<boolean> {
  const isEnough: GrepCall["isEnough"] = ({ scanned, total }) => (isUnscoped ? scanned : total) > 0;
  const { filesScanned, totalMatches } = await searchLines(
    { ...input, output: "files", documents: false },
    { ...search, isEnough },
  );
  return (isUnscoped ? filesScanned : totalMatches) > 0;
}
