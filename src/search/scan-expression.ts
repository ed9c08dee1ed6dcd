import { RE2JS, RE2JSSyntaxException } from "re2js";
import type { LineQuery } from "../core/scan.js";
import type { LineMatcher } from "./scan-lines.js";

/** Why a pattern cannot be compiled. */
export interface PatternFault {
  readonly reason: string;
  /** In characters, where it is known. */
  readonly position?: number;
}

/** An expression of RE2, or a text in any case. */
export function compileExpression({ pattern, literal, ignoreCase }: LineQuery): LineMatcher | PatternFault {
  try {
    const re = RE2JS.compile(literal ? RE2JS.quote(pattern) : pattern, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
    return {
      matches: (line) => re.test(line),
      startIn(line) {
        const matcher = re.matcher(line);
        return matcher.find() ? matcher.start() : 0;
      },
    };
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) return { reason: "it is too large" };
    const part = error.getPattern() ?? "";
    const position = part === "" ? -1 : pattern.indexOf(part);
    const isKnown = position >= 0 && pattern.indexOf(part, position + 1) < 0;
    const reason = part === "" || part === pattern ? error.getDescription() : `${error.getDescription()}: ${part}`;
    return isKnown ? { reason: `${reason}: at ${position}`, position } : { reason };
  }
}
