// Judges symbolic links: where the walk continues, from the text of a link alone. Nothing outside the root is looked up.

/** Maximum links on the way of one path. */
export const MAX_LINKS = 40;

/** Where a link is, in a root. */
export interface LinkPlace {
  /** Canonical path of the root. */
  readonly top: string;
  /** Real names of the directories from the root to the link's. */
  readonly names: readonly string[];
  /** Number of first names that no link may change or leave: the caller's paths start below them. */
  readonly floor: number;
}

/** How the walk continues. */
export interface LinkRoute {
  /** Directories to leave, upwards. */
  readonly leaves: number;
  /** What to walk then, in order; `..` among them is judged when the walk comes to it. */
  readonly tokens: string[];
}

/** @param target text of the link @returns `escape` if it leads out of the root or above the floor */
export function judgeLink(target: string, { top, names, floor }: LinkPlace): LinkRoute | "escape" {
  // A link above the floor would move the start of the caller's paths.
  if (names.length < floor) return "escape";
  if (!target.startsWith("/")) return { leaves: 0, tokens: tokensOf(target) };
  const start = [top, ...names.slice(0, floor)].join("/");
  if (target !== start && !target.startsWith(`${start}/`)) return "escape";
  return { leaves: names.length - floor, tokens: tokensOf(target.slice(start.length)) };
}

/** A trailing slash requires a directory: `.` makes the walk enter it. */
function tokensOf(text: string): string[] {
  const tokens = text.split("/").filter((segment) => segment !== "");
  if (text.endsWith("/")) tokens.push(".");
  return tokens;
}
