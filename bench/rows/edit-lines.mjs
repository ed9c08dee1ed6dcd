import { readFileSync, writeFileSync } from "node:fs";
import { expectThat } from "../expect.mjs";
import { MB, makeText } from "../fixture.mjs";

/** Two lines in the middle, named with `\n` between them, there and back. Where line ends are mixed, every third is `\n`, others `\r\n`. */
export function editLinesRow({ at, deep }, ends) {
  const lines = makeText(4 * MB, 402).split("\n");
  const middle = Math.floor(lines.length / 2);
  const version = (index) => `the first line, version ${index % 2}\nthe second line`;
  const endOf = (index) => (ends === "mixed" && index % 3 > 0 ? "\r\n" : "\n");
  const above = lines.slice(0, middle).map((line, index) => line + endOf(index));
  const below = lines.slice(middle).map((line, index) => line + endOf(index));
  const body = (index) => `${above.join("")}${version(index).replace("\n", endOf(1))}${endOf(1)}${below.join("")}`;
  const both = [body(0), body(1)];
  const path = (who) => deep(`edited-${ends}-${who}.md`);
  return {
    forms: {
      library: {
        before: (index, who) => writeFileSync(at(path(who)), both[index % 2]),
        check: (_, index, who) =>
          expectThat(readFileSync(at(path(who)), "utf8") === both[(index + 1) % 2], "The file is not as edited"),
        run: (invoke, index, who) =>
          invoke("file:edit", {
            ...{ root: "bench", path: path(who), oldText: version(index), newText: version(index + 1) },
          }),
      },
    },
  };
}
