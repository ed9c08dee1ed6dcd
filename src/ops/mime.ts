import { createRequire } from "node:module";

const BY_EXTENSION: Readonly<Record<string, string>> = {
  ts: "text/typescript",
  tsx: "text/typescript",
  mts: "text/typescript",
  cts: "text/typescript",
  py: "text/x-python",
  rs: "text/rust",
};

const BY_NAME: Readonly<Record<string, string>> = {
  Dockerfile: "text/plain",
  Makefile: "text/plain",
  ".gitignore": "text/plain",
};

const PLAIN_TEXT = "text/plain";

/** Leading bytes of types that are known by them. */
const SIGNATURES: readonly { readonly mime: string; readonly at: number; readonly bytes: Buffer }[] = [
  { mime: "image/png", at: 0, bytes: Buffer.from("89504e470d0a1a0a", "hex") },
  { mime: "image/jpeg", at: 0, bytes: Buffer.from("ffd8ff", "hex") },
  { mime: "image/gif", at: 0, bytes: Buffer.from("GIF8") },
  { mime: "image/webp", at: 8, bytes: Buffer.from("WEBP") },
  { mime: "application/pdf", at: 0, bytes: Buffer.from("%PDF-") },
];

let byExtension: ReadonlyMap<string, string> | undefined;

/** Loaded when the first file is read: most of the start of a process would go into it otherwise. */
function tableByExtension(): ReadonlyMap<string, string> {
  if (byExtension === undefined) {
    const { types }: typeof import("mime-types") = createRequire(import.meta.url)("mime-types");
    byExtension = new Map(Object.entries(types));
  }
  return byExtension;
}

/** The type that a file's name tells, without parameters. */
export function mimeByName(name: string): string | undefined {
  if (Object.hasOwn(BY_NAME, name)) return BY_NAME[name];
  const dot = name.lastIndexOf(".");
  // A leading dot hides a file, it does not start an extension.
  if (dot < 1) return undefined;
  const extension = name.slice(dot + 1).toLowerCase();
  if (Object.hasOwn(BY_EXTENSION, extension)) return BY_EXTENSION[extension];
  return tableByExtension().get(extension);
}

/** The type of content that was read: by name, else by its leading bytes, else by whether it is text. */
export function mimeOf(name: string, content: { head: Buffer; isText: () => boolean }): string {
  return mimeByName(name) ?? bySignature(content.head) ?? (content.isText() ? PLAIN_TEXT : "application/octet-stream");
}

/** The type that leading bytes tell. */
export function bySignature(head: Buffer): string | undefined {
  const isRiff = head.subarray(0, 4).toString("latin1") === "RIFF";
  return SIGNATURES.find(
    ({ mime, at, bytes }) => head.subarray(at, at + bytes.length).equals(bytes) && (mime !== "image/webp" || isRiff),
  )?.mime;
}
