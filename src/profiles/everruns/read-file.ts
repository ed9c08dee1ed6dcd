// The `read_file` tool.

import type { JsonObject, Rendering } from "../../core/ports/adapter.js";
import { hashIn, LOOKING, type SessionCall } from "./files.js";

/** Media types of images, by file extension. */
const IMAGES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
};

/** The encoding is given explicitly, so that only UTF-8 counts as text whatever the root's default encoding is. */
export async function readFile(path: string, { root, paths }: SessionCall): Promise<JsonObject> {
  const found = await root.invoke("file:read", { path, encoding: "utf-8" }, LOOKING);
  const { content = "", encoding, size } = found;
  const hash = hashIn(found);
  const mediaType = encoding === "base64" ? IMAGES[/\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ""] : undefined;
  if (mediaType === undefined) {
    const shown = encoding === "base64" ? encoding : "text";
    return { path: paths.show(path), content, encoding: shown, size_bytes: size, content_hash: hash };
  }
  const image = { base64: content, media_type: mediaType };
  return { path: paths.show(path), media_type: mediaType, size_bytes: size, content_hash: hash, image };
}

/** Renders an image as an image: a model cannot read its base64 text. */
export function renderRead(result: unknown): Rendering {
  const { image, ...value }: { readonly image?: { readonly base64: string; readonly media_type: string } } =
    typeof result === "object" && result !== null ? result : {};
  if (image === undefined) return { kind: "json", value, rest: {} };
  return { kind: "json", value, rest: {}, image: { base64: image.base64, mime: image.media_type } };
}
