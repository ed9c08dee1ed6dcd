import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { etagOfContent } from "../ops/content/etags.js";
import { useGround } from "../ops/ground.js";

const ground = useGround();
const file = (name: string): Buffer => readFileSync(new URL(`files/${name}`, import.meta.url));

const SHEETS = { sheets: ["Costs 2024", "Notes"] };
const BUDGET = { title: "Budget", author: "Cy Counter", ...SHEETS };
const COSTS = `--- sheet Costs 2024 ---
Item	Cost	Paid	On
Rent	1200.5	TRUE	2024-05-01
Sum	2401		2024-05-01T13:30:00
Share	0.125	13:30:00

--- sheet Notes ---
	two lines`;

const MINUTES = `Minutes of the meeting
Present:	Ann,   Bo
and others.[1] Kept.
First item
Zürich 🚀
Name	Votes
Ann Lee	12
After the table.`;

/** Name, text, and the other fields that the file has. */
const FILES: readonly (readonly [name: string, text: string, more: object])[] = [
  [
    "python-docx.docx",
    "Report\nSales rose by 12 % in Zürich 🚀.\nFirst point\nName\tCount\tPrice\nApples\t3\t1.20\ntab\tbehind\n\nLast line",
    { meta: { title: "Quarterly report", author: "Ada Writer", created: "2024-05-01T12:30:00Z" } },
  ],
  [
    "libreoffice.docx",
    `${MINUTES}\n\nOn the second page.\n\n[1] Who came late.`,
    { meta: { title: "Minutes", author: "Bo Clerk", created: "2024-05-01T12:30:00Z" } },
  ],
  [
    "libreoffice.odt",
    `${MINUTES}\nOn the second page.\n\n[1] Who came late.`,
    { meta: { title: "Minutes", author: "Bo Clerk", created: "2024-05-01T12:30:00" } },
  ],
  ["libreoffice.ods", COSTS, { meta: BUDGET }],
  ["libreoffice.xlsx", COSTS, { meta: BUDGET }],
  [
    "openpyxl.xlsx",
    `--- sheet Data ---
Name	When	Ok	Half
Zürich 🚀	2024-05-01T13:30:00	TRUE	0.5
x	1999-12-31	FALSE	1e+21
	07:05:09		0.3
30:00:00

--- sheet Hidden one ---
		far`,
    { meta: { title: "Numbers", author: "Di Writer", sheets: ["Data", "Hidden one"] } },
  ],
  [
    "xlsxwriter.xlsx",
    "--- sheet One ---\na\tb\n2024-02-29\t45000\n2\tTRUE\ntx\nrich text\n#DIV/0!\n\n--- sheet Empty ---",
    { meta: { title: "Written", author: "Ed", created: "2024-05-01T00:00:00Z", sheets: ["One", "Empty", "Chart"] } },
  ],
  [
    "python-pptx.pptx",
    `--- slide 1 ---
Plan
for 2025
and after

--- slide 2 ---
Third
Zürich 🚀

--- slide 3 ---
Table

r0c0	r0c1
r1c0	r1c1`,
    { pages: 3, firstPage: 1, lastPage: 3, meta: { title: "Slides", author: "Flo" } },
  ],
  [
    "libreoffice.pdf",
    `--- page 1 ---
HEADER
Minutes of the meeting
Present: Ann, Bo
and others.1 KeptDELETED.
Name Votes
Ann
Lee
12
After the table.
1 Who came late.
FOOTER

--- page 2 ---
HEADER
On the second page.
FOOTER`,
    { pages: 2, firstPage: 1, lastPage: 2, meta: { title: "Minutes", author: "Bo Clerk" } },
  ],
  [
    "libreoffice.html",
    `HEADER
Minutes of the meeting
Present: Ann, Bo
and others.1 KeptDELETED.
First item
Zürich 🚀
Name	Votes
Ann Lee	12
After the table.
On the second page.
1Who came late.
FOOTER`,
    { meta: { title: "Minutes", author: "Bo Clerk" } },
  ],
];

describe("the text of a document, with what it says of itself", () => {
  test.each(FILES)("%s", async (name, text, more) => {
    const bytes = file(name);
    ground.put(name, bytes);
    const { mime, ...found } = await ground.run("read", { path: name, mode: "extract" });
    expect(found).toMatchObject({
      ...{ text, chars: text.length, truncated: false, size: bytes.length, etag: etagOfContent(bytes) },
      ...more,
    });
    // Without a name its content tells what it is.
    ground.put("unnamed", bytes);
    const unnamed = await ground.run("read", { path: "unnamed", mode: "extract" });
    expect({ text: unnamed.text, mime: unnamed.mime }).toEqual({ text, mime });
  });
});
