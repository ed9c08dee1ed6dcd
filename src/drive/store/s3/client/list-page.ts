// Parser of ListObjectsV2 responses.

/** An object in a listing. */
export interface ListedObject {
  /** Without the store's prefix. */
  readonly key: string;
  /** Changes with the content. */
  readonly etag: string;
  /** In bytes. */
  readonly size: number;
  /** Time of the last put, in milliseconds since 1970; many servers report whole seconds. */
  readonly modifiedAt: number;
}

export interface ListPage {
  readonly objects: readonly ListedObject[];
  /** Common prefixes, up to and including the next slash. */
  readonly folders: readonly string[];
  readonly next: string | undefined;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** Parses a ListObjectsV2 response. Keys that do not start with `prefix` are dropped. */
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

/** The code in an S3 error response. */
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
