// Drives as the roots of calls that name them by references, and the canonical references of places.

const BETWEEN = "/dlfs/";
const OWN = "dlfs/";

/** A drive as the root of a call; no name of a root has a slash. @param owner DID; absent: the caller */
export const driveKey = (owner: string | undefined, drive: string): string =>
  owner === undefined ? `${OWN}${drive}` : `${owner}${BETWEEN}${drive}`;

/** The drive that the root of a call names. @returns `undefined`: it names a root */
export function driveOfKey(root: string): { readonly owner: string | undefined; readonly drive: string } | undefined {
  if (!root.includes("/")) return undefined;
  if (root.startsWith(OWN)) return { owner: undefined, drive: root.slice(OWN.length) };
  const at = root.indexOf(BETWEEN);
  return at < 0 ? undefined : { owner: root.slice(0, at), drive: root.slice(at + BETWEEN.length) };
}

/** The canonical reference of a place. @param root name of a root, or the key of a drive with its owner */
export const referenceTo = (root: string, segments: readonly string[]): string =>
  `${root.includes("/") ? root : `file://${root}`}/${segments.join("/")}`;

/** Whether a text can only be a reference to a drive: no path in a root is written so. */
export const namesDrive = (text: unknown): boolean =>
  typeof text === "string" && /^(?:dlfs:\/\/|did:[a-z0-9]+:[A-Za-z0-9._:%-]+\/dlfs\/)[^/]/.test(text);
