import { describe, expect, test } from "@jest/globals";
import { useGround } from "./ground.js";

const ground = useGround();
const PNG = Buffer.from("89504e470d0a1a0a0000", "hex");
const mimeOf = async (path: string, content: string | Buffer): Promise<string> => {
  ground.put(path, content);
  return (await ground.run("read", { path })).mime;
};

describe("the type of content, by name", () => {
  const names: readonly [string, string][] = [
    ["a.ts", "text/typescript"],
    ["a.tsx", "text/typescript"],
    ["a.mts", "text/typescript"],
    ["a.cts", "text/typescript"],
    ["a.d.ts", "text/typescript"],
    ["a.py", "text/x-python"],
    ["a.rs", "text/rust"],
    ["Dockerfile", "text/plain"],
    ["Makefile", "text/plain"],
    [".gitignore", "text/plain"],
    ["a.txt", "text/plain"],
    ["a.html", "text/html"],
    ["a.md", "text/markdown"],
    ["a.json", "application/json"],
    ["a.js", "text/javascript"],
    ["a.svg", "image/svg+xml"],
    ["a.tar.gz", "application/gzip"],
    ["A.PNG", "image/png"],
    ["dir.html/a.css", "text/css"],
    ["dir/Dockerfile", "text/plain"],
  ];
  test.each(names)("%s is %s, also of bytes that say otherwise, and for stat", async (path, mime) => {
    expect(await mimeOf(path, "text")).toBe(mime);
    expect(await mimeOf(path, PNG)).toBe(mime);
    expect(await ground.run("stat", { path })).toMatchObject({ mime });
  });

  test.each([["noextension"], [".png"], ["a."], ["a.unheardof"], ["a.constructor"], ["a.__proto__"], ["constructor"]])(
    "%s says nothing",
    async (path) => {
      ground.put(path, PNG);
      expect(await ground.run("stat", { path })).not.toHaveProperty("mime");
      expect((await ground.run("read", { path })).mime).toBe("image/png");
    },
  );
});

describe("the type of content whose name says nothing", () => {
  const contents: readonly [string, string | Buffer, string][] = [
    ["a PNG", PNG, "image/png"],
    ["a JPEG", Buffer.from("ffd8ffe000104a464946", "hex"), "image/jpeg"],
    ["a GIF", Buffer.from("GIF89a\u0001\u0000\u0001\u0000"), "image/gif"],
    ["a WebP", Buffer.concat([Buffer.from("RIFF"), Buffer.alloc(4), Buffer.from("WEBPVP8 ")]), "image/webp"],
    ["a PDF", Buffer.concat([Buffer.from("%PDF-1.7\n"), Buffer.of(0xff)]), "application/pdf"],
    [
      "another RIFF",
      Buffer.concat([Buffer.from("RIFF"), Buffer.alloc(4), Buffer.from("WAVE")]),
      "application/octet-stream",
    ],
    [
      "what only looks like a WebP",
      Buffer.concat([Buffer.alloc(8), Buffer.from("WEBPVP8 ")]),
      "application/octet-stream",
    ],
    ["too little of a PNG", PNG.subarray(0, 7), "application/octet-stream"],
    ["a PNG further behind", Buffer.concat([Buffer.of(0), PNG]), "application/octet-stream"],
    ["text", "hello", "text/plain"],
    ["nothing", "", "text/plain"],
    ["bytes", Buffer.of(0, 1, 2), "application/octet-stream"],
  ];
  test.each(contents)("is told by its first bytes: %s", async (_, content, mime) => {
    expect(await mimeOf("file", content)).toBe(mime);
    expect((await ground.run("read", { path: "file", mode: "bytes" })).mime).toBe(mime);
  });

  test("is plain text for JSON that was read as such", async () => {
    ground.put("file", "{}");
    expect((await ground.run("read", { path: "file", mode: "json" })).mime).toBe("text/plain");
  });
});
