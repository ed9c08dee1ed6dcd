import fc from "fast-check";

const SURROGATES = 0x800;
const FIRST_SURROGATE = 0xd800;

/** Any character but a surrogate, as a unit of `fc.string`. The `binary` of fast-check is the same, and builds a table of a million entries first. */
export const anyCharacter = fc.integer({ min: 0, max: 0x10ffff - SURROGATES }).map(
  (index) => String.fromCodePoint(index < FIRST_SURROGATE ? index : index + SURROGATES),
  (character) => {
    const code = typeof character === "string" ? character.codePointAt(0) : undefined;
    if (code === undefined || String.fromCodePoint(code) !== character) throw new Error("not one character");
    return code < FIRST_SURROGATE ? code : code - SURROGATES;
  },
);
