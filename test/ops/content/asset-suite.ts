import { createHash } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import type { AssetContent, ResolveAsset } from "../../../src/core/ports/adapter.js";
import { failure, useGround } from "../ground.js";

export type Method = "write" | "append";

/** What the answer calls the number of bytes. */
const COUNT = { write: "written", append: "appended" } as const;
const OLD = "old content";

export const answer = (method: Method, bytes: number, created: boolean) => ({ [COUNT[method]]: bytes, created });

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const giving =
  (content: AssetContent["content"], hash?: string): ResolveAsset =>
  async () => ({ content, ...(hash === undefined ? {} : { sha256: hash }) });

async function* pieces(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) {
    await new Promise((resolve) => setImmediate(resolve));
    yield Buffer.from(text);
  }
}

/** What write and append do with assets. */
export function assetSuite(method: Method): void {
  describe(`assets of file:${method}`, () => {
    const ground = useGround({ limits: { maxWriteBytes: 4 }, maxContentSize: 20 });
    const good: readonly [string, () => ResolveAsset][] = [
      ["bytes", () => giving(Buffer.from("0123456789"))],
      ["a plain Uint8Array", () => giving(new TextEncoder().encode("0123456789"))],
      ["a stream", () => giving(pieces("01234", "", "56789"))],
      ["bytes with their hash", () => giving(Buffer.from("0123456789"), sha256("0123456789"))],
      [
        "a stream with its hash, in capitals",
        () => giving(pieces("0123", "456789"), sha256("0123456789").toUpperCase()),
      ],
    ];
    test.each(good)("are taken as %s, beyond the limit of other content", async (_, make) => {
      const asset = { path: "new", asset: "ref" };
      expect(await ground.run(method, asset, { resolveAsset: make() })).toMatchObject(answer(method, 10, true));
      expect(ground.get("new").toString()).toBe("0123456789");
    });

    test("are asked for by their reference, with the signal of the call", async () => {
      const { signal } = new AbortController();
      const asked: unknown[] = [];
      const resolveAsset: ResolveAsset = async (...given) => {
        asked.push(given);
        return { content: Buffer.alloc(0) };
      };
      await ground.run(method, { path: "new", asset: "a/b c" }, { resolveAsset, signal });
      expect(asked).toEqual([["a/b c", signal]]);
    });

    const notFound = (ref: string) => failure("ASSET_NOT_FOUND", `Asset not found: ${ref}`, "");
    const tooLarge = (size: number) =>
      failure("TOO_LARGE", `Content too large: ${size} bytes, limit 20`, "", { size, limit: 20 });
    const mismatch = (path: string) =>
      failure("IO_ERROR", `I/O error ASSET_HASH_MISMATCH: r:${path}`, "", { systemCode: "ASSET_HASH_MISMATCH" });
    const bad: readonly [
      string,
      string,
      (() => ResolveAsset) | undefined,
      (path: string) => ReturnType<typeof failure>,
    ][] = [
      ["where nobody resolves them", "ref", undefined, () => notFound("ref")],
      ["that nobody knows", "r\n\u202ef", () => async () => undefined, () => notFound("r\\u{a}\\u{202e}f")],
      [
        "without content",
        "ref",
        () => giving(null),
        () => failure("ASSET_NO_CONTENT", "Asset has no content: ref", ""),
      ],
      ["over the limit", "ref", () => giving(Buffer.alloc(21)), () => tooLarge(21)],
      ["over the limit in the end", "ref", () => giving(pieces("0123456789", "0123456789", "x")), () => tooLarge(21)],
      ["with another hash", "ref", () => giving(Buffer.from("x"), sha256("y")), mismatch],
      ["with another hash in the end", "ref", () => giving(pieces("x", "y"), sha256("x")), mismatch],
    ];
    test.each(bad)("are refused %s, and nothing is touched", async (_, asset, make, expected) => {
      ground.put("old", OLD);
      for (const path of ["old", "a/b"]) {
        const context = make === undefined ? {} : { resolveAsset: make() };
        const { code, message, data } = expected(path);
        expect(await ground.fail(method, { path, asset, parents: true }, context)).toEqual({
          code,
          message,
          data: { ...data, path },
        });
      }
      expect(ground.names()).toEqual(["old"]);
      expect(ground.get("old").toString()).toBe(OLD);
      expect(ground.staged()).toEqual([]);
    });

    test("whose source fails leave everything as it was, and tell nothing of why", async () => {
      ground.put("old", OLD);
      async function* broken(): AsyncGenerator<Uint8Array> {
        yield Buffer.from("part");
        throw new Error("secret /etc/host-path");
      }
      const failed = await ground.fail(method, { path: "old", asset: "ref" }, { resolveAsset: giving(broken()) });
      expect(failed).toEqual({
        code: "INTERNAL",
        message: `Internal error (${ground.internal[0]?.requestId})`,
        data: {},
      });
      expect(ground.internal).toMatchObject([{ error: new Error("secret /etc/host-path") }]);
      expect(ground.get("old").toString()).toBe(OLD);
    });
  });
}
