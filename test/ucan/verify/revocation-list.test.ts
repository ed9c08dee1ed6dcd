import { describe, expect, test } from "@jest/globals";
import { isRevocable, parseRevocations } from "../../../src/ucan/verify/revocation-list.js";
import { alice } from "../tokens.js";

/** Ids end in one of few letters: their last one stands for two bits only. */
const ID = `${"a-_Z09".repeat(7)}E`;

describe("a revocation list", () => {
  test("has an entry a line, with comments and empty lines between", () => {
    const text = `# what\n\n${ID}\n  ${alice.did}\t# the lead, #2\r\n#${ID}\n \t\ndid:web:files.example%3A8080:a`;
    expect(parseRevocations(text)).toEqual({ entries: [ID, alice.did, "did:web:files.example%3A8080:a"] });
  });

  test("may begin with a mark of byte order, as some editors write it", () => {
    expect(parseRevocations(`\ufeff${ID}\n`)).toEqual({ entries: [ID] });
  });

  test("has ids that issuers gave to their JWTs, whatever stands in them", () => {
    const ids = ["jti:7", "jti:onrtac:0f-1/a?b=c", 'jti:"x"'];
    expect(parseRevocations(`${ids.join("\n")} # lost\n`)).toEqual({ entries: ids });
  });

  test.each(["", "\n", "# nothing", "\r\n \r\n"])("may be empty: %j", (text) => {
    expect(parseRevocations(text)).toEqual({ entries: [] });
  });

  test.each([
    ["a word", "revoked"],
    ["an id that is cut", ID.slice(0, -1)],
    ["an id with a letter more", `${ID}A`],
    ["an id that no hash has", `${ID.slice(0, -1)}F`],
    ["an id in base64", `${ID.slice(0, 10)}+${ID.slice(11)}`],
    ["two entries", `${ID} ${ID}`],
    ["two entries and a comma", `${ID},${ID}`],
    ["an entry in quotes", `"${ID}"`],
    ["a DID without a name", "did:key:"],
    ["a DID without a method", "did::x"],
    ["a DID in capitals", "DID:key:x"],
    ["a DID with a path", `${alice.did}/x`],
    ["a DID with a question", `${alice.did}?x`],
    ["no id of a JWT", "jti:"],
    ["an id of a JWT with a space", "jti:a b"],
    ["an id of a JWT that is too long", `jti:${"a".repeat(257)}`],
    ["a comment of another kind", "// x"],
  ])("is malformed with %s, and says where", (_what, line) => {
    expect(parseRevocations(`${ID}\n# x\n${line}\n${line}\n`)).toEqual({ malformedLine: 3 });
    expect(isRevocable(line)).toBe(false);
  });
});
