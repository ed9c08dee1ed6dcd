// Names of files and directories are preserved exactly.

import { describe, expect } from "../runner.js";
import type { Scenario } from "../scenario.js";

/** Names that a careless backend would change, merge or misinterpret. */
const NAMES = [
  ["a name beyond the basic plane", "𝔊😀.txt"],
  ["a composed accent", "caf\u00e9"],
  ["a decomposed accent", "cafe\u0301"],
  ["stacked combining marks", "z\u0351\u036b\u0343"],
  ["joined emoji", "👩‍👩‍👧"],
  ["right-to-left text", "שלום"],
  ["a bidi override", "a\u202egpj.exe"],
  ["line separators", "a\u2028b\u2029c\u0085"],
  ["a no-break space", "\u00a0"],
  ["spaces at both ends", "  a  "],
  ["a dot at the end", "a."],
  ["three dots", "..."],
  ["percent escapes", "%2e%2e%2f"],
  ["a colon", "ab:c"],
  ["a leading dash", "-rf"],
  ["shell characters", "$(x);*?'\"`|&<>"],
  ["a Windows device", "con"],
  ["a URL-like name", "file?x=1#y"],
  ["a property of every object", "__proto__"],
  ["a method of every object", "toString"],
  ["the replacement character", "a\ufffd"],
  ["a noncharacter", "a\uffff"],
  ["the longest name", "n".repeat(255)],
  ["the longest name of wide characters", "😀".repeat(63)],
] as const;

export function namesSuite(scenario: Scenario): void {
  describe("names", () => {
    for (const [why, name] of NAMES) {
      scenario(`are kept as they are: ${why}`, async ({ files }) => {
        expect(await files.write(`${name}/${name}`, "x", { parents: true })).toEqual({ bytes: 1, created: true });
        expect(await files.names("")).toEqual([name]);
        expect(await files.names(name)).toEqual([name]);
        expect((await files.walk("")).map((entry) => entry.name)).toEqual([name, name]);
        expect((await files.list(name)).entries[0]).not.toHaveProperty("unreachable");
        expect(await files.text(`${name}/${name}`)).toBe("x");
        expect(await files.remove(name, { recursive: true })).toEqual({ existed: true });
        expect(await files.snapshot()).toEqual([]);
      });
    }

    scenario("that only look alike are different names", async ({ files }) => {
      const alike = ["caf\u00e9", "cafe\u0301", "CAF\u00c9", "cafe", "\u212b", "\u00c5", "A\u030a"];
      for (const name of alike) await files.write(name, `content of ${codesOf(name)}`);
      expect((await files.list("")).total).toBe(alike.length);
      for (const name of alike) expect(await files.text(name)).toBe(`content of ${codesOf(name)}`);
    });

    scenario("not yet used are free, also those every object has", async ({ files }) => {
      for (const name of ["__proto__", "constructor", "hasOwnProperty", "size"]) {
        expect(await files.stat(name)).toBeUndefined();
        expect(await files.remove(name)).toEqual({ existed: false });
      }
    });
  });
}

const codesOf = (name: string): string => Array.from(name, (char) => char.codePointAt(0)?.toString(16)).join(" ");
