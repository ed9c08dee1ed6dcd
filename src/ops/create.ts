import { createHash, hash } from "node:crypto";
import { FileAdapterError } from "../core/errors/errors.js";
import { alreadyExists, conflict, invalidInput, type Place } from "../core/errors/texts.js";
import { etagOf } from "../core/etag.js";
import type { AssetContent } from "../core/ports/adapter.js";
import type { Body } from "../core/ports/backend.js";
import type { Operation, PathCall } from "../core/ports/operation.js";
import type { CreateInput, CreateOutput } from "../schema/types.js";
import { bodyOf, checkReference, type TextSource } from "./content/content.js";

type Content = NonNullable<CreateInput["content"]>;
/** The answer before it names what was made. */
type Created = Omit<CreateOutput, "ref">;

const LOCATORS = ["inline", "ref", "dlfs"] as const;

/** `create`: makes a file that is not there yet. */
export const create: Operation<CreateInput, Created> = {
  name: "create",
  on: "path",
  ability: "crud/write",
  changes: true,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  hidden: ["content"],
  check({ content = {} }) {
    const given = LOCATORS.filter((locator) => content[locator] !== undefined);
    const expected = "one of inline, ref, dlfs";
    if (given.length > 1)
      throw invalidInput("Only one of 'inline', 'ref' or 'dlfs' may be given", "/content", expected);
    const { ref = content.dlfs } = content;
    if (ref !== undefined) checkReference(ref, "/content/ref");
  },
  async run({ content = {} }, call) {
    const { access, path, root } = call;
    let { contentType } = content;
    const found = (asset: AssetContent): void => {
      contentType ??= asset.contentType;
    };
    const body = pinned(bodyOf(sourceOf(content), call, found), content, call);
    try {
      const { bytes, sha256 } = await root.backend.write(path, body, { parents: false, expected: "nothing" }, access);
      const etag = sha256 === undefined ? {} : { etag: etagOf(sha256) };
      return { written: bytes, created: true, ...(contentType === undefined ? {} : { contentType }), ...etag };
    } catch (error) {
      throw isThere(error, access.place) ? alreadyExists(access.place, ". Choose another name") : error;
    }
  },
  bytes: ({ written }) => written,
};

function sourceOf({ inline, ref, dlfs, sha256 }: Content): TextSource {
  const asset = ref ?? dlfs ?? (inline === undefined && sha256 !== undefined ? `sha256:${hexOf(sha256)}` : undefined);
  return asset === undefined ? { content: inline ?? "" } : { asset };
}

/** Whatever is at the place, the file is not made. */
function isThere(error: unknown, { root, path }: Place): boolean {
  if (!(error instanceof FileAdapterError)) return false;
  const { code, data } = error;
  if (code === "CONFLICT") return data["expected"] === "*";
  return (code === "IS_A_DIRECTORY" || code === "NOT_A_FILE") && data["root"] === root && data["path"] === path;
}

const hexOf = (sha256: string): string => sha256.slice(-64).toLowerCase();

/** Content that must have the hash that is named. @throws CONFLICT before anything is put in place */
function pinned(body: Body, { inline, ref, dlfs, sha256 }: Content, { access }: PathCall): Body {
  const isPinned = sha256 !== undefined && (inline ?? ref ?? dlfs) !== undefined;
  if (!isPinned) return body;
  const expected = `sha256:${hexOf(sha256)}`;
  const requireSame = (found: string): void => {
    if (found === hexOf(sha256)) return;
    throw conflict(access.place, { verb: access.verb, expected, current: etagOf(found) });
  };
  return {
    async load() {
      const content = await body.load();
      if (!Buffer.isBuffer(content)) return checked(content, requireSame);
      requireSame(hash("sha256", content, "hex"));
      return content;
    },
  };
}

async function* checked(
  content: AsyncIterable<Uint8Array>,
  requireSame: (found: string) => void,
): AsyncGenerator<Uint8Array> {
  const digest = createHash("sha256");
  for await (const chunk of content) {
    digest.update(chunk);
    yield chunk;
  }
  requireSame(digest.digest("hex"));
}
