// Digests of a body that its sender announces: a body that does not fit is refused.

import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { invalidInput } from "../../../core/errors/texts.js";
import type { UploadBody } from "../../../core/ports/streams.js";
import { badRequest } from "./http-error.js";

/** Names of algorithms in headers, as Node knows them. Others are left to whoever understands them. */
const ALGORITHMS: Readonly<Record<string, string>> = {
  md5: "md5",
  sha: "sha1",
  sha1: "sha1",
  "sha-256": "sha256",
  sha256: "sha256",
  "sha-512": "sha512",
  sha512: "sha512",
};

export interface Digest {
  /** As Node names it. */
  readonly algorithm: string;
  readonly hex: string;
}

/** The digests in `OC-Checksum`, `Content-MD5`, `Digest`, `Repr-Digest` and `Content-Digest`. @throws HttpError 400 */
export function digestsIn(headers: IncomingHttpHeaders): readonly Digest[] {
  const text = (name: string): string => String(headers[name] ?? "").trim();
  const found: (readonly [name: string, value: Buffer])[] = [];
  for (const one of text("oc-checksum").split(/\s+/)) {
    const [, name, value] = /^([^:]+):([0-9a-f]+)$/i.exec(one) ?? [];
    if (name !== undefined && value !== undefined) found.push([name, Buffer.from(value, "hex")]);
  }
  if (text("content-md5") !== "") found.push(["md5", Buffer.from(text("content-md5"), "base64")]);
  for (const one of ["digest", "repr-digest", "content-digest"].flatMap((name) => text(name).split(","))) {
    const [, name, value] = /^\s*([\w-]+)\s*=\s*:?([\w+/]+=*):?\s*(?:;.*)?$/.exec(one) ?? [];
    if (name !== undefined && value !== undefined) found.push([name, Buffer.from(value, "base64")]);
  }
  return found.flatMap(([name, value]) => {
    const algorithm = ALGORITHMS[name.toLowerCase()];
    if (algorithm === undefined) return [];
    if (value.length !== createHash(algorithm).digest().length) {
      throw badRequest(`The ${name} digest does not have the length of one`);
    }
    return [{ algorithm, hex: value.toString("hex") }];
  });
}

/** A body that fails unless it has these digests. */
export function requireDigests(digests: readonly Digest[], body: UploadBody): UploadBody {
  if (digests.length === 0) return body;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    const hashes = digests.map(({ algorithm }) => createHash(algorithm));
    for await (const chunk of body.chunks) {
      for (const hash of hashes) hash.update(chunk);
      yield chunk;
    }
    for (const [index, hash] of hashes.entries()) {
      const { algorithm, hex } = digests[index] ?? {};
      if (hash.digest("hex") === hex) continue;
      throw invalidInput(`The body does not fit its ${algorithm} digest. Send it again`, "", "the whole body");
    }
  }
  return { ...body, chunks: chunks() };
}
