/** An object as a listing tells of it. */
export interface ListedObject {
  /** Without the prefix of the store. */
  readonly key: string;
  /** Another one for each content. */
  readonly etag: string;
  /** Bytes. */
  readonly size: number;
  /** When it was put, in milliseconds since 1970; whole seconds on many servers. */
  readonly modifiedAt: number;
}

export interface ListPage {
  readonly objects: readonly ListedObject[];
  /** What is below the next slash, with it. */
  readonly folders: readonly string[];
  readonly next: string | undefined;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** Reads an answer to ListObjectsV2. Keys that do not begin with `prefix` are left out. */
export function parseListPage(xml: string, prefix: string): ListPage {
  const own = (key: string | undefined): string[] =>
    key?.startsWith(prefix) === true ? [key.slice(prefix.length)] : [];
  const objects = blocks(xml, "Contents").flatMap((block) =>
    own(textIn(block, "Key")).map((key) => ({
      key,
      etag: textIn(block, "ETag") ?? "",
      size: Number(textIn(block, "Size") ?? 0),
      modifiedAt: Date.parse(textIn(block, "LastModified") ?? ""),
    })),
  );
  const folders = blocks(xml, "CommonPrefixes").flatMap((block) => own(textIn(block, "Prefix")));
  const isCut = textIn(xml, "IsTruncated") === "true";
  return { objects, folders, next: isCut ? textIn(xml, "NextContinuationToken") : undefined };
}

/** The code of an error of S3. */
export const errorCode = (xml: string): string => textIn(xml, "Code") ?? "";

function blocks(xml: string, tag: string): string[] {
  const [, ...parts] = xml.split(`<${tag}>`);
  return parts.map((part) => part.slice(0, part.indexOf(`</${tag}>`)));
}

function textIn(xml: string, tag: string): string | undefined {
  const start = xml.indexOf(`<${tag}>`);
  const end = xml.indexOf(`</${tag}>`, start);
  if (start < 0 || end < 0) return undefined;
  const text = xml.slice(start + tag.length + 2, end);
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w{1,5}));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return ENTITIES[String(name)] ?? whole;
    const point = decimal === undefined ? Number.parseInt(String(hex), 16) : Number(decimal);
    return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
  });
}
