import { crc32, deflateSync } from "node:zlib";

type Sides = readonly [width: number, height: number];

/** A PNG of black pixels. */
export function png([width, height]: Sides): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 1;
  const pixels = deflateSync(Buffer.alloc((1 + Math.ceil(width / 8)) * height));
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
    return Buffer.concat([number32(data.length), body, number32(crc32(body))]);
  };
  const signature = Buffer.from("89504e470d0a1a0a", "hex");
  return Buffer.concat([signature, chunk("IHDR", header), chunk("IDAT", pixels), chunk("IEND", Buffer.alloc(0))]);
}

const number32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const number16 = (value: number): Buffer => number32(value).subarray(2);

const segment = (marker: number, data: Buffer): Buffer =>
  Buffer.concat([Buffer.of(0xff, marker), number16(data.length + 2), data]);

/** The parts of a JPEG, with a picture of its own in the first, as cameras put it there. */
export function jpeg([width, height]: Sides): Buffer {
  const thumbnail = Buffer.from("ffd8ffda0002ffd9", "hex");
  const frame = Buffer.concat([Buffer.of(8), number16(height), number16(width), Buffer.of(1, 1, 0x11, 0)]);
  const scan = segment(0xda, Buffer.of(1, 1, 0, 0, 63, 0));
  const pixels = Buffer.from("12ff00ffd034ff0056", "hex");
  const start = [
    Buffer.of(0xff, 0xd8),
    segment(0xe1, thumbnail),
    segment(0xdb, Buffer.alloc(65)),
    segment(0xc2, frame),
  ];
  return Buffer.concat([...start, segment(0xc4, Buffer.alloc(20)), scan, pixels, scan, pixels, Buffer.of(0xff, 0xd9)]);
}

/** The parts of a GIF with a comment. */
export function gif([width, height]: Sides): Buffer {
  const sides = Buffer.from([width & 0xff, width >> 8, height & 0xff, height >> 8]);
  const comment = Buffer.concat([Buffer.of(0x21, 0xfe, 3), Buffer.from(";;;"), Buffer.of(0)]);
  const image = Buffer.concat([
    Buffer.of(0x2c, 0, 0, 0, 0),
    sides,
    Buffer.of(0x80),
    Buffer.alloc(6),
    Buffer.of(2, 2, 0x44, 1, 0),
  ]);
  return Buffer.concat([Buffer.from("GIF89a"), sides, Buffer.of(0, 0, 0), comment, image, Buffer.of(0x3b)]);
}

/** One of a pixel, of each kind. */
export const WEBPS = {
  lossy: "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA",
  lossless: "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==",
  alpha:
    "UklGRkoAAABXRUJQVlA4WAoAAAAQAAAAAAAAAAAAQUxQSAwAAAARBxAR/Q9ERP8DAABWUDggGAAAABQBAJ0BKgEAAQAAAP4AAA3AAP7mtQAAAA==",
  animated:
    "UklGRlIAAABXRUJQVlA4WAoAAAASAAAAAAAAAAAAQU5JTQYAAAD/////AABBTk1GJgAAAAAAAAAAAAAAAAAAAGQAAABWUDhMDQAAAC8AAAAQBxAREYiI/gcA",
} as const;

/** A lossless WebP that says it has these sides. */
export function webp([width, height]: Sides): Buffer {
  const bytes = Buffer.from(WEBPS.lossless, "base64");
  bytes.writeUInt32LE(width - 1 + (height - 1) * 2 ** 14 + 2 ** 28, 21);
  return bytes;
}
