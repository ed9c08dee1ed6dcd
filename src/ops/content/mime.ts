// Media types of files: by name, by signature, or as text.

import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { packageFile } from "../../core/package-files.js";

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

/** Magic numbers. */
const SIGNATURES: readonly { readonly mime: string; readonly at: number; readonly bytes: Buffer }[] = [
  { mime: "image/png", at: 0, bytes: Buffer.from("89504e470d0a1a0a", "hex") },
  { mime: "image/jpeg", at: 0, bytes: Buffer.from("ffd8ff", "hex") },
  { mime: "image/gif", at: 0, bytes: Buffer.from("GIF8") },
  { mime: "image/webp", at: 8, bytes: Buffer.from("WEBP") },
  { mime: "application/pdf", at: 0, bytes: Buffer.from("%PDF-") },
  ...["49492a00", "4d4d002a", "49492b00", "4d4d002b"].map((hex) => ({
    ...{ mime: "image/tiff", at: 0, bytes: Buffer.from(hex, "hex") },
  })),
];

/** Valid sizes of a BMP's DIB header, checked because any text may begin with "BM". */
const BMP_HEADERS: ReadonlySet<number> = new Set([12, 16, 40, 52, 56, 64, 108, 124]);
/** HEIF brands of ISO base media files that name a coding (ISO/IEC 23008-12). */
const HEIF_BRANDS: ReadonlyMap<string, string> = new Map([
  ...["heic", "heix", "heim", "heis"].map((brand) => [brand, "image/heic"] as const),
  ...["hevc", "hevx", "hevm", "hevs"].map((brand) => [brand, "image/heic-sequence"] as const),
]);
/** Generic HEIF brands: the compatible brands tell the coding. */
const ANY_HEIF: ReadonlyMap<string, string> = new Map([
  ["mif1", "image/heif"],
  ["msf1", "image/heif-sequence"],
]);
const MAX_BRANDS = 32;
/** Leading bytes of a text that are searched for the first tag. */
const MAX_PROLOG_BYTES = 65_536;

let types: Readonly<Record<string, string>> | undefined;

/** The table of `mime-types`, as the build has written it. Loaded on first use. */
function typesByExtension(): Readonly<Record<string, string>> {
  types ??= createRequire(import.meta.url)(fileURLToPath(packageFile("dist/ops/content/media-types.json")));
  return types as Readonly<Record<string, string>>;
}

/** The media type by file name, without parameters. */
export function mimeByName(name: string): string | undefined {
  if (Object.hasOwn(BY_NAME, name)) return BY_NAME[name];
  const dot = name.lastIndexOf(".");
  // A leading dot marks a hidden file, not an extension.
  if (dot < 1) return undefined;
  const extension = name.slice(dot + 1).toLowerCase();
  if (Object.hasOwn(BY_EXTENSION, extension)) return BY_EXTENSION[extension];
  const types = typesByExtension();
  return Object.hasOwn(types, extension) ? types[extension] : undefined;
}

/** The media type of content: by name, else by signature, else by whether it is text. */
export function mimeOf(name: string, content: { head: Buffer; isText: () => boolean }): string {
  const known = mimeByName(name) ?? bySignature(content.head);
  if (known !== undefined) return known;
  if (!content.isText()) return "application/octet-stream";
  return isSvg(content.head) ? "image/svg+xml" : PLAIN_TEXT;
}

/** The media type by signature. */
export function bySignature(head: Buffer): string | undefined {
  const isRiff = head.subarray(0, 4).toString("latin1") === "RIFF";
  const found = SIGNATURES.find(
    ({ mime, at, bytes }) => head.subarray(at, at + bytes.length).equals(bytes) && (mime !== "image/webp" || isRiff),
  );
  return found?.mime ?? (isBmp(head) ? "image/bmp" : heifType(head));
}

function isBmp(head: Buffer): boolean {
  if (head.length < 18 || head.toString("latin1", 0, 2) !== "BM") return false;
  return head.readUInt32LE(6) === 0 && BMP_HEADERS.has(head.readUInt32LE(14));
}

function heifType(head: Buffer): string | undefined {
  if (head.toString("latin1", 4, 8) !== "ftyp") return undefined;
  const brandAt = (at: number): string => head.toString("latin1", at, at + 4);
  const major = brandAt(8);
  const any = ANY_HEIF.get(major);
  if (any === undefined) return HEIF_BRANDS.get(major);
  const end = Math.min(head.readUInt32BE(0), head.length, 16 + 4 * MAX_BRANDS);
  for (let at = 16; at + 4 <= end; at += 4) {
    const type = HEIF_BRANDS.get(brandAt(at));
    if (type !== undefined) return type;
  }
  return any;
}

/** Whether the first tag of a text is `<svg>`, after an optional XML prolog. */
function isSvg(head: Buffer): boolean {
  const text = head.toString("utf8", 0, MAX_PROLOG_BYTES).replace(/^\ufeff/, "");
  for (let at = 0; ; ) {
    while (/\s/.test(text[at] ?? "")) at++;
    const end = prologEnd(text, at);
    if (end === undefined) return /^<svg[\s/>]/.test(text.slice(at, at + 5));
    if (end < 0) return false;
    at = end;
  }
}

/** @returns end of a declaration, comment or document type; -1: it does not end; `undefined`: anything else */
function prologEnd(text: string, at: number): number | undefined {
  const behind = (end: string): number => {
    const found = text.indexOf(end, at);
    return found < 0 ? -1 : found + end.length;
  };
  if (text.startsWith("<?", at)) return behind("?>");
  if (text.startsWith("<!--", at)) return behind("-->");
  if (!text.startsWith("<!DOCTYPE svg", at)) return undefined;
  const subset = text.indexOf("[", at);
  const close = text.indexOf(">", at);
  return subset >= 0 && subset < close ? behind("]>") : behind(">");
}
