import { describe, expect, test } from "@jest/globals";
import mimeTypes from "mime-types";
import { mimeByName } from "../../../src/ops/content/mime.js";
import { useGround } from "../ground.js";

const ground = useGround();
const PNG = Buffer.from("89504e470d0a1a0a0000", "hex");
/** File size, reserved bytes, where the pixels are, and how long the second header is. */
const BMP = Buffer.from("424d46000000000000003600000028000000ff", "hex");
const heif = (major: string, ...compatible: string[]): Buffer => {
  const brands = Buffer.from(`ftyp${major}\0\0\0\0${compatible.join("")}`, "latin1");
  return Buffer.concat([Buffer.of(0, 0, 0, brands.length + 4), brands, Buffer.of(0xff)]);
};
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

test("all other extensions have the type that mime-types knows", () => {
  const own = new Set(["ts", "tsx", "mts", "cts", "py", "rs"]);
  const others = Object.entries(mimeTypes.types).filter(([extension]) => !own.has(extension));
  expect(others.length).toBeGreaterThan(1000);
  expect(others.map(([extension]) => [extension, mimeByName(`a.${extension}`)])).toEqual(others);
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
    ["a BMP", BMP, "image/bmp"],
    ["a BMP of OS/2", Buffer.concat([BMP.subarray(0, 14), Buffer.from("0c000000", "hex")]), "image/bmp"],
    ["what only begins as a BMP", "BMW and others: a list of cars\n", "text/plain"],
    [
      "a BMP with no known header",
      Buffer.concat([BMP.subarray(0, 14), Buffer.from("0d000000", "hex")]),
      "application/octet-stream",
    ],
    ["a TIFF, little-endian", Buffer.from("49492a0008000000ff", "hex"), "image/tiff"],
    ["a TIFF, big-endian", Buffer.from("4d4d002a00000008ff", "hex"), "image/tiff"],
    ["a BigTIFF", Buffer.from("49492b0008000000ff", "hex"), "image/tiff"],
    ["a HEIC", heif("heic", "mif1", "heic"), "image/heic"],
    ["a HEIC by its compatible brands", heif("mif1", "mif1", "heic"), "image/heic"],
    ["a sequence of HEIC", heif("hevc", "msf1"), "image/heic-sequence"],
    ["another HEIF", heif("mif1", "mif1", "miaf"), "image/heif"],
    ["another file of ISO base media", heif("isom", "mp42", "heic"), "application/octet-stream"],
    ["an SVG", '<svg xmlns="http://www.w3.org/2000/svg"/>', "image/svg+xml"],
    [
      "an SVG behind all that may come first",
      '\ufeff<?xml version="1.0"?>\n<!-- <b> -->\n<!DOCTYPE svg [ <!ENTITY a "b>"> ]>\n<?style a?>\n<svg>\n</svg>',
      "image/svg+xml",
    ],
    [
      "an SVG with a plain document type",
      '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "a.dtd">\n<svg\n/>',
      "image/svg+xml",
    ],
    ["a page that holds an SVG", "<!DOCTYPE html><svg/>", "text/plain"],
    ["another tag", "<svgx/>", "text/plain"],
    ["a comment that does not end", "<!-- <svg/>", "text/plain"],
    ["an SVG that is no text", Buffer.concat([Buffer.from("<svg>"), Buffer.of(0xff)]), "application/octet-stream"],
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
