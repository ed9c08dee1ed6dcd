// References: texts that name a file or a place in a drive by themselves. Pure text; nothing in them is decoded.

/** A place named by a reference. */
export interface Reference {
  /** Name of a root, or the key of a drive: `dlfs/<drive>` for the caller's own, `<owner DID>/dlfs/<drive>`. */
  readonly root: string;
  readonly path: string;
  /** Written `dlfs/…`, as a plain path may be too. */
  readonly isBare?: true;
}

/** A text that has the form of a reference and names no place. */
export interface NoReference {
  /** Completes "'path' ". */
  readonly fault: string;
}

const FILE = /^file:\/{1,2}([^/]*)(?:\/(.*))?$/s;
const DRIVE = /^(?:(dlfs\/)|dlfs:\/\/|(did:[a-z0-9]+:[A-Za-z0-9._:%-]+)\/dlfs\/)([^/]*)(?:\/(.*))?$/s;
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:\/\//;

/** Reads a reference. @returns `undefined`: the text is a plain path, or nothing that names a place */
export function parseReference(text: string): Reference | NoReference | undefined {
  const file = FILE.exec(text);
  if (file !== null) {
    const [, root = "", path = ""] = file;
    return root === "" ? { fault: "must name a root: file://<root>/<path>" } : { root, path };
  }
  const found = DRIVE.exec(text);
  if (found !== null) {
    const [, bare, owner, drive = "", path = ""] = found;
    if (drive === "") return { fault: "must name a drive: dlfs/<drive>/<path>" };
    return {
      root: `${owner === undefined ? "" : `${owner}/`}dlfs/${drive}`,
      path,
      ...(bare === undefined ? {} : { isBare: true }),
    };
  }
  if (!SCHEME.test(text)) return undefined;
  return { fault: "must be a path, file://<root>/<path> or dlfs/<drive>/<path>" };
}
