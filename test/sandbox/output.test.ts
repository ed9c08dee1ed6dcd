import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { createOutput, type StreamName } from "../../src/sandbox/output.js";
import { anyCharacter } from "../any-character.js";

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8");

const pieces = fc.array(
  fc.record({
    stream: fc.constantFrom<StreamName>("stdout", "stderr"),
    text: fc.string({ unit: anyCharacter, maxLength: 8 }),
  }),
  { maxLength: 20 },
);
/** Bytes of texts, in chunks that split characters. */
const chunksOf = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );

describe("output that is kept from its beginning", () => {
  test("is what came first of both streams together, without half a character", () => {
    fc.assert(
      fc.property(pieces, fc.nat(40), fc.integer({ min: 1, max: 3 }), (written, most, size) => {
        const output = createOutput("head", most);
        for (const piece of written) {
          for (const chunk of chunksOf(Buffer.from(piece.text), size)) output.add(piece.stream, chunk);
        }
        const { stdout, stderr, combined, truncated, cutStream } = output.output(true);
        const whole = (only?: StreamName) =>
          written
            .filter(({ stream }) => only === undefined || stream === only)
            .map((piece) => piece.text)
            .join("");
        const all = Buffer.from(whole());
        expect(truncated).toBe(all.length > most);
        expect(cutStream === undefined).toBe(!truncated);
        expect(stdout.length + stderr.length).toBeLessThanOrEqual(most);
        expect(whole("stdout").startsWith(text(stdout))).toBe(true);
        expect(whole("stderr").startsWith(text(stderr))).toBe(true);
        expect(combined.length).toBeGreaterThanOrEqual(Math.min(all.length, most) - 3);
        expect(all.subarray(0, combined.length).equals(Buffer.from(combined))).toBe(true);
      }),
    );
  });

  test("names the stream that there was no more room for first", () => {
    const output = createOutput("head", 4);
    output.add("stdout", Buffer.from("abc"));
    output.add("stderr", Buffer.from("dé"));
    output.add("stdout", Buffer.from("late"));
    expect(output.output(true)).toMatchObject({ cutStream: "stderr", truncated: true });
    expect([text(output.output(true).stdout), text(output.output(true).stderr)]).toEqual(["abc", "d"]);
  });
});

describe("output that is kept from its end", () => {
  test("is what came last, without half a character", () => {
    fc.assert(
      fc.property(pieces, fc.integer({ min: 0, max: 40 }), fc.integer({ min: 1, max: 50 }), (written, most, size) => {
        const output = createOutput("tail", most);
        const all = Buffer.from(written.map((piece) => piece.text).join(""));
        for (const chunk of chunksOf(all, size)) output.add("stdout", chunk);
        const { combined, stdout, truncated } = output.output(true);
        expect(truncated).toBe(all.length > most);
        expect(combined.length).toBeLessThanOrEqual(most);
        expect(combined.length).toBeGreaterThanOrEqual(Math.min(all.length, most) - 3);
        expect(all.subarray(all.length - combined.length).equals(Buffer.from(combined))).toBe(true);
        expect(Buffer.from(stdout).equals(Buffer.from(combined))).toBe(true);
        expect(Buffer.from(text(combined)).equals(Buffer.from(combined))).toBe(true);
      }),
    );
  });

  test("keeps both streams in the order in which they came", () => {
    const output = createOutput("tail", 6);
    for (const [stream, bytes] of [
      ["stdout", "ab"],
      ["stderr", "cd"],
      ["stdout", "ef"],
      ["stderr", "gh"],
    ] as const) {
      output.add(stream, Buffer.from(bytes));
    }
    expect(text(output.output(false).combined)).toBe("cdefgh");
  });
});

test("a character that is still coming is not shown until it is there", () => {
  for (const keep of ["head", "tail"] as const) {
    const output = createOutput(keep, 100);
    output.add("stdout", Buffer.from("é").subarray(0, 1));
    expect(output.output(false).stdout).toHaveLength(0);
    expect(output.output(true).stdout).toHaveLength(1);
    output.add("stdout", Buffer.from("é").subarray(1));
    expect(text(output.output(false).stdout)).toBe("é");
  }
});

test("what is no text is kept as it is", () => {
  const bytes = Buffer.of(0xff, 0xc0, 0x80, 0xfe);
  const output = createOutput("head", 100);
  output.add("stdout", bytes);
  expect(Buffer.from(output.output(false).stdout).equals(bytes)).toBe(true);
});
