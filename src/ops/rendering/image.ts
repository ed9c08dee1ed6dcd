// Images that hosts of models take. One that they do not take fails every later call of the same conversation, so none
// goes out whose header cannot be read, that is cut short, or that is larger than they allow.

import { bySignature } from "../content/mime.js";

/** Most pixels of a side. */
const MAX_SIDE = 8000;
/** Most bytes of an image: 5 MB in base64. */
const MAX_BYTES = 3_750_000;

/** Facts of an image, from the beginning of its file or all of it. */
export interface ImageLook {
  readonly mime: string;
  /** Absent: the header cannot be read. */
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  /** Why it must not go out as an image. Absent: nothing is wrong with it. */
  readonly fault?: string | undefined;
}

interface Sides {
  readonly width: number;
  readonly height: number;
}

/** Result of a walk through the parts of an image. */
interface Walked {
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  /** The last part ends within the bytes. */
  readonly isWhole: boolean;
}

const WALKS: ReadonlyMap<string, (bytes: Buffer) => Walked> = new Map([
  ["image/png", walkPng],
  ["image/jpeg", walkJpeg],
  ["image/gif", walkGif],
  ["image/webp", walkWebp],
]);

/** Looks at an image of a type that hosts show; `undefined`: it is none. @param size of the whole file, if it is not all here */
export function lookAtImage(bytes: Buffer, size = bytes.length): ImageLook | undefined {
  const mime = bySignature(bytes);
  const walk = mime === undefined ? undefined : WALKS.get(mime);
  if (mime === undefined || walk === undefined) return undefined;
  const { width, height, isWhole } = walked(walk, bytes);
  return { mime, width, height, fault: faultOf({ width, height, isWhole, size }) };
}

/** Whether a media type is that of images that hosts show. */
export const isImageType = (mime: string): boolean => WALKS.has(mime);

function faultOf({ width = 0, height = 0, isWhole, size }: Walked & { readonly size: number }): string | undefined {
  if (size > MAX_BYTES) return "too large to show";
  if (width < 1 || height < 1) return "its header cannot be read";
  if (Math.max(width, height) > MAX_SIDE) return `a side is over ${MAX_SIDE} px`;
  return isWhole ? undefined : "damaged or cut short";
}

function walked(walk: (bytes: Buffer) => Walked, bytes: Buffer): Walked {
  try {
    return walk(bytes);
  } catch {
    // A read behind the end of the bytes: the header is cut short.
    return { isWhole: false };
  }
}

function walkPng(bytes: Buffer): Walked {
  if (bytes.toString("latin1", 12, 16) !== "IHDR") return { isWhole: false };
  const sides = { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
  let hasPixels = false;
  for (let at = 8; at + 12 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString("latin1", at + 4, at + 8);
    hasPixels ||= type === "IDAT" && length > 0;
    at += length + 12;
    if (type === "IEND") return { ...sides, isWhole: hasPixels && at <= bytes.length };
  }
  return { ...sides, isWhole: false };
}

const isFrame = (marker: number): boolean => (marker & 0xf0) === 0xc0 && ![0xc4, 0xc8, 0xcc].includes(marker);

/** Segments with a length, and after each start of a scan the scan, in which 0xff stands before 0 or a restart only. */
function walkJpeg(bytes: Buffer): Walked {
  let sides: Partial<Sides> = {};
  let hasPixels = false;
  for (let at = bytes.indexOf(0xff, 2); at >= 0 && at + 1 < bytes.length; at = bytes.indexOf(0xff, at)) {
    const marker = bytes.readUInt8(++at);
    if (marker === 0xff) continue;
    at++;
    if (marker === 0xd9) return { ...sides, isWhole: hasPixels };
    if (marker <= 0x01 || (marker >= 0xd0 && marker <= 0xd8)) continue;
    if (at + 2 > bytes.length) break;
    if (isFrame(marker) && at + 7 <= bytes.length) {
      sides = { height: bytes.readUInt16BE(at + 3), width: bytes.readUInt16BE(at + 5) };
    }
    hasPixels ||= marker === 0xda;
    at += bytes.readUInt16BE(at);
  }
  return { ...sides, isWhole: false };
}

/** Offset behind a list of length-prefixed blocks, which an empty block ends. */
function behindBlocks(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length && bytes.readUInt8(at) > 0) at += bytes.readUInt8(at) + 1;
  return at + 1;
}

const tableBytes = (flags: number): number => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));

function walkGif(bytes: Buffer): Walked {
  if (!/^GIF8[79]a$/.test(bytes.toString("latin1", 0, 6))) return { isWhole: false };
  const sides = { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
  let hasPixels = false;
  for (let at = 13 + tableBytes(bytes.readUInt8(10)); at < bytes.length; ) {
    const kind = bytes.readUInt8(at);
    if (kind === 0x3b) return { ...sides, isWhole: hasPixels };
    if (kind !== 0x21 && kind !== 0x2c) break;
    if (kind === 0x21) at = behindBlocks(bytes, at + 2);
    else if (at + 10 > bytes.length) break;
    else {
      hasPixels = true;
      sides.width = Math.max(sides.width, bytes.readUInt16LE(at + 1) + bytes.readUInt16LE(at + 5));
      sides.height = Math.max(sides.height, bytes.readUInt16LE(at + 3) + bytes.readUInt16LE(at + 7));
      at = behindBlocks(bytes, at + 11 + tableBytes(bytes.readUInt8(at + 9)));
    }
  }
  return { ...sides, isWhole: false };
}

function walkWebp(bytes: Buffer): Walked {
  const end = bytes.readUInt32LE(4) + 8;
  const sides = webpSides(bytes);
  let hasPixels = false;
  let behind = 12;
  // A missing byte behind a last chunk of odd length does no harm.
  let padding = 0;
  while (behind + padding + 8 <= Math.min(end, bytes.length)) {
    const at = behind + padding;
    hasPixels ||= ["VP8 ", "VP8L", "ANMF"].includes(bytes.toString("latin1", at, at + 4));
    behind = at + 8 + bytes.readUInt32LE(at + 4);
    padding = behind % 2;
  }
  return { ...sides, isWhole: hasPixels && Math.max(behind, end - padding) <= bytes.length };
}

function webpSides(bytes: Buffer): Partial<Sides> {
  switch (bytes.toString("latin1", 12, 16)) {
    case "VP8 ":
      if (bytes.readUIntBE(23, 3) !== 0x9d012a) return {};
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    case "VP8L": {
      if (bytes.readUInt8(20) !== 0x2f) return {};
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case "VP8X":
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    default:
      return {};
  }
}
