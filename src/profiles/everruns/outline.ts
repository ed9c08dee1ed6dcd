// Outlines of source files: declarations found line by line, for the lines that a window does not show.

/** A line of an outline. */
interface Declaration {
  /** 1-based. */
  readonly line: number;
  readonly signature: string;
  readonly isMember: boolean;
}

/** Patterns of a language's declarations. `top` and `member` have the signature as their only group. */
interface Language {
  readonly top: RegExp;
  /** Signatures of declarations that have members. */
  readonly holder: RegExp;
  /** On a line without its indentation. */
  readonly member: RegExp;
}

const SCRIPT: Language = {
  top: /^(?:export\s+)?(?:default\s+)?(?:declare\s+)?((?:(?:abstract\s+)?class|(?:async\s+)?function\b(?:\s*\*)?|interface|type|(?:const\s+)?enum|namespace)\s+[\w$].*|(?:const|let|var)\s+[\w$]+\s*(?::[^=]*)?=\s*(?:async\s*)?(?:function\b|\(|[\w$]+\s*=>).*)/,
  holder: /^(?:abstract\s+)?(?:class|interface)\s/,
  member:
    /^(?!(?:if|for|while|switch|catch|with|return|throw|await|new|super|else|do)\b)((?:(?:public|private|protected|static|async|readonly|override|abstract|get|set)\s+)*(?:\*\s*)?#?[\w$]+\??\s*(?:<[^>]*>)?\(.*)/,
};

const RUST: Language = {
  top: /^((?:pub(?:\([^)]*\))?\s+)?(?:(?:async|const|unsafe|default|auto|extern(?:\s+"[^"]*")?)\s+)*(?:(?:fn|struct|enum|union|trait|mod|type)\s+\w|impl\b|macro_rules!).*)/,
  holder: /^(?:pub(?:\([^)]*\))?\s+)?(?:(?:unsafe|default|auto)\s+)*(?:impl|trait)\b/,
  member: /^((?:pub(?:\([^)]*\))?\s+)?(?:(?:async|const|unsafe|default|extern(?:\s+"[^"]*")?)\s+)*fn\s+\w.*)/,
};

const PYTHON: Language = {
  top: /^((?:async\s+def|def|class)\s+\w.*)/,
  holder: /^class\s/,
  member: /^((?:async\s+)?def\s+\w.*)/,
};

const LANGUAGES: readonly (readonly [extension: RegExp, language: Language])[] = [
  [/\.(?:[cm]?[jt]s|[jt]sx)$/i, SCRIPT],
  [/\.rs$/i, RUST],
  [/\.py$/i, PYTHON],
];

/** Longer lines, such as those of bundles, declare nothing that an outline can name. */
const MAX_LINE_CHARS = 300;
const MAX_SIGNATURE_CHARS = 120;
/** Declarations further down are left out: no call is held up by a file of empty lines. */
const MAX_LINES = 100_000;

/** Lines of a file that are shown. */
interface Shown {
  readonly start: number;
  readonly end: number;
  readonly totalLines: number;
}

/**
 * The outline of the lines before and after a window, to be added to its content; empty: the language is not known or
 * nothing is declared there.
 * @param room most bytes of it
 */
export function outlineOf(text: string, name: string, shown: Shown, room: number): string {
  const language = LANGUAGES.find(([extension]) => extension.test(name))?.[1];
  if (language === undefined) return "";
  const { start, end, totalLines } = shown;
  let outline = "";
  let left = room;
  const write = (part: string): boolean => {
    left -= Buffer.byteLength(part);
    if (left >= 0) outline += part;
    return left >= 0;
  };
  let titled = "";
  for (const { line, signature, isMember } of declarationsIn(text, language)) {
    if (line >= start && line <= end) continue;
    const part = line < start ? `1-${start - 1}` : `${end + 1}-${totalLines}`;
    const title = part === titled ? "" : `\n--- Outline of lines ${part} (not shown) ---\n`;
    titled = part;
    if (!write(`${title}${isMember ? "  " : ""}// L${line}: ${signature} { ... }\n`)) break;
  }
  return outline;
}

function* declarationsIn(text: string, { top, holder, member }: Language): Generator<Declaration> {
  let isIn = false;
  /** Indentation of the members of the declaration above. */
  let depth: string | undefined;
  let at = 0;
  for (let line = 1; at < text.length && line <= MAX_LINES; line++) {
    const feed = text.indexOf("\n", at);
    const end = feed < 0 ? text.length : feed;
    const source = end - at > MAX_LINE_CHARS ? "" : text.slice(at, end).trimEnd();
    at = end + 1;
    const indent = source.length - source.trimStart().length;
    if (source === "" || (indent > 0 && !isIn)) continue;
    if (indent > 0) {
      depth ??= source.slice(0, indent);
      const [, found] =
        source.startsWith(depth) && indent === depth.length ? (member.exec(source.slice(indent)) ?? []) : [];
      if (found !== undefined) yield { line, signature: signatureOf(found), isMember: true };
      continue;
    }
    const [, found] = top.exec(source) ?? [];
    if (found !== undefined) yield { line, signature: signatureOf(found), isMember: false };
    // A comment, a decorator or the end of a header ends nothing.
    if (/^[#/@)\]*]/.test(source)) continue;
    isIn = found !== undefined && holder.test(found);
    depth = undefined;
  }
}

/** A declaration without its body. */
function signatureOf(found: string): string {
  const bare = found.replace(/[:;,]$/, "").replace(/(?:=>?\s*)?\{[^{}]*\}?;?$/, "");
  return bare.trimEnd().slice(0, MAX_SIGNATURE_CHARS);
}
