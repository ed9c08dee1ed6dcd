import { describe, expect, test } from "@jest/globals";
import { lookAtImage } from "../../../src/ops/rendering/image.js";
import { useGround } from "../ground.js";
import { gif, jpeg, png, WEBPS, webp } from "./images.js";

const ground = useGround();
const BUDGET = { defaultBytes: 65_536, defaultLines: 2000, maxBytes: 1_048_576 };
const FOR_MODELS = { budget: BUDGET };
const KINDS = { png, jpeg, gif, webp } as const;
const kinds = Object.entries(KINDS);

describe("an image", () => {
  test.each(kinds)("%s tells its sides, and nothing is wrong with it", (kind, make) => {
    const found = { mime: `image/${kind}`, width: 300, height: 20, fault: undefined };
    expect(lookAtImage(make([300, 20]))).toEqual(found);
    expect(lookAtImage(Buffer.concat([make([300, 20]), Buffer.from("behind it")]))).toEqual(found);
  });

  test.each(Object.entries(WEBPS))("WebP of the kind %s is read", (_, base64) => {
    const bytes = Buffer.from(base64, "base64");
    expect(lookAtImage(bytes)).toEqual({ mime: "image/webp", width: 1, height: 1, fault: undefined });
    expect(lookAtImage(bytes.subarray(0, -2))?.fault).toBe("damaged or cut short");
  });

  test.each(kinds)("%s that is cut short anywhere has a fault", (kind, make) => {
    const bytes = make([30, 20]);
    // The last byte of a WebP of odd length only fills it up.
    for (let length = 12; length < bytes.length - (kind === "webp" ? 1 : 0); length++) {
      const { fault } = { ...lookAtImage(bytes.subarray(0, length)) };
      expect([length, fault]).toEqual([
        length,
        expect.stringMatching(/^(damaged or cut short|its header cannot be read)$/),
      ]);
    }
  });

  test.each(kinds)("%s of no side, or of one over 8,000 px, has a fault", (kind, make) => {
    expect(lookAtImage(make([8000, 8000]))?.fault).toBeUndefined();
    for (const sides of [
      [8001, 1],
      [1, 8001],
      [16_000, 9000],
    ] as const) {
      expect(lookAtImage(make(sides))).toMatchObject({ width: sides[0], fault: "a side is over 8000 px" });
    }
    if (kind !== "webp") expect(lookAtImage(make([0, 5]))?.fault).toBe("its header cannot be read");
  });

  test("without pixels, or with another header than its first part, has a fault", () => {
    const bytes = png([4, 4]);
    const bare = Buffer.concat([bytes.subarray(0, 33), bytes.subarray(-12)]);
    expect(lookAtImage(bare)?.fault).toBe("damaged or cut short");
    const other = Buffer.from(bytes);
    other.write("CgBI", 12, "latin1");
    expect(lookAtImage(other)?.fault).toBe("its header cannot be read");
    expect(lookAtImage(Buffer.from("GIF8 is a format of images."))?.fault).toBe("its header cannot be read");
  });

  test("of more than 5 MB of base64 has a fault", () => {
    const most = 3_750_000;
    const bytes = png([4, 4]);
    const padded = (size: number) => Buffer.concat([bytes, Buffer.alloc(size - bytes.length)]);
    expect(lookAtImage(padded(most))?.fault).toBeUndefined();
    expect(lookAtImage(padded(most + 1))?.fault).toBe("too large to show");
  });
});

describe("to a model", () => {
  const shown = async (path: string, more: object = {}) => {
    const seen = await ground.render("read", { path, ...more }, FOR_MODELS);
    return seen.kind === "blob" ? seen.mime : String(seen.kind === "text" ? seen.text : "").split("\n")[0];
  };

  test.each(kinds)(
    "%s goes out as an image where nothing is wrong with it, else it is described",
    async (kind, make) => {
      const bytes = make([12, 9]);
      ground.put("good", bytes);
      ground.put("cut", bytes.subarray(0, -2));
      ground.put("wide", make([12_000, 2]));
      expect(await shown("good")).toBe(`image/${kind}`);
      const size = bytes.length - 2;
      expect(await shown("cut")).toBe(`Image, damaged or cut short: image/${kind}, 12x9 px, ${size} bytes`);
      expect(await shown("wide")).toMatch(
        new RegExp(`^Image, a side is over 8000 px: image/${kind}, 12000x2 px, \\d+ bytes`),
      );
    },
  );

  test("nothing else that is asked for as bytes goes out as an image", async () => {
    ground.put("good.png", png([12, 9]));
    ground.put("wide.png", png([12_000, 2]));
    ground.put("noise.png", Buffer.alloc(40, 0x81));
    for (const more of [{ mode: "bytes" }, { offset: 0 }, { offset: 0, length: 1000 }]) {
      expect(await shown("good.png", more)).toBe("image/png");
      expect(await shown("wide.png", more)).toBe("application/octet-stream");
      expect(await shown("noise.png", more)).toBe("application/octet-stream");
    }
    expect(await shown("good.png", { offset: 1 })).toBe("application/octet-stream");
    expect(await shown("noise.png")).toBe("Image, its header cannot be read: image/png, 40 bytes");
  });

  test("an image of several parts in memory is whole, and one among several files says what is wrong with it", async () => {
    const noise = Buffer.concat([png([12, 9]), Buffer.alloc(200_000, 1)]);
    ground.put("large", noise);
    ground.put("wide", png([12_000, 2]));
    expect(await shown("large")).toBe("image/png");
    ground.put("larger", Buffer.concat([png([12, 9]), Buffer.alloc(1_048_576, 1)]));
    expect(await shown("larger")).toMatch(/^Image, too large to show: image\/png, 12x9 px, \d+ bytes/);
    const files = [{ path: "large" }, { path: "wide" }];
    const many = await ground.run("readMany", { files }, FOR_MODELS);
    expect(many.files.map(({ description = "" }) => description.split(":")[0])).toEqual([
      "Image, shown when read alone",
      "Image, a side is over 8000 px",
    ]);
    expect((await ground.run("read", { path: "wide" })).encoding).toBe("base64");
  });
});
