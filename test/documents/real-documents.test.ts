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

/** A notebook, with the lines above its cells. */
const notebook = ([
  markdown = "",
  first = "",
  second = "",
  third = "",
  raw = "",
  last = "",
  more = "",
]: string[]): string =>
  `${markdown}
# Sales in Zürich 🚀

A picture: ![dot](attachment:dot.png)

| a | b |
|---|---|
| 1 | 2 |${more}

${first}
import sys
print('first line')
print('second line')
print('a warning', file=sys.stderr)
6 * 7
--- output
first line
second line
--- output
a warning
--- output
42

${second}
from IPython.display import Image, HTML, Markdown, display
import base64
display(HTML('<b>bold</b>'))
display(Image(base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAACklEQVR4nGMAAQAABQABDQottAAAAABJRU5ErkJggg==')))
display({'text/plain': 'shown as text', 'application/json': {'a': 1}}, raw=True)
--- output
<IPython.core.display.HTML object>
--- output
<IPython.core.display.Image object>
[image/png not shown]
--- output
shown as text
[application/json not shown]

${third}
def fails(x):
    return 1 / x

fails(0)
--- output
---------------------------------------------------------------------------
ZeroDivisionError                         Traceback (most recent call last)
Cell In[3], line 4
      1 def fails(x):
      2     return 1 / x
      3
----> 4 fails(0)

Cell In[3], line 2, in fails(x)
      1 def fails(x):
----> 2     return 1 / x

ZeroDivisionError: division by zero

${raw}
raw text, not run

${last}`;

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
  [
    "libreoffice.xhtml",
    `Minutes of the meeting
Present: Ann, Bo
and others.1 KeptDELETED.
•.First item
•.Zürich 🚀
Name	Votes
Ann Lee	12
After
[ANNOTATION:

BY 'X'
ON '0000-00-00T00:00:00'
NOTE: 'REMARK'] the table.
On the second page.
1Who came late.`,
    { meta: { title: "Minutes", author: "Bo Clerk" } },
  ],
  [
    "pandoc.xhtml",
    `One — start
Text with emphasis, a link, code <b> and a note.1 Zürich 🚀
first point
second point
Name	Votes
Ann	12
Bo	3
if a < b:
    print("x")
x2<y
Who came late.`,
    { meta: { title: "ch001.xhtml" } },
  ],
  ["ebooklib.xhtml", "Intro\nCafé & bar — 5 < 6\nnext line\na\tb", { meta: { title: "Intro & more" } }],
  ["nbformat4.ipynb", notebook(["[1] markdown", "[2] code", "[3] code", "[4] code", "[5] raw", "[6] code"]), {}],
  [
    "nbformat3.ipynb",
    notebook([
      ...["[1] markdown", "[3] code", "[4] code", "[5] code", "[6] raw", "[7] code"],
      "\n\n[2] heading\nA heading",
    ])
      .replace("[image/png not shown]", "[png not shown]")
      .replace("\n[application/json not shown]", ""),
    {},
  ],
];

/** What the writers above use no more, or seldom. */
const XHTML: readonly (readonly [what: string, page: string | Buffer, text: string, title: string])[] = [
  [
    "with entities and a document type that declares some",
    `<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<?xml-stylesheet type="text/css" href="a.css"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd" [
  <!ENTITY nbsp "&#160;">
]>
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Old &amp; strict</title></head>
<body><p>A&nbsp;b &eacute; &#x20AC; &lt;p&gt;</p></body></html>`,
    "A b é € <p>",
    "Old & strict",
  ],
  [
    "with CDATA and elements without content",
    `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>T</title><script src="a.js"/><style type="text/css"/>
<script type="text/javascript"><![CDATA[ if (a < b && c) { x("</p>"); } ]]></script></head>
<body><textarea/><div/><p><![CDATA[5 < 6 && <b>]]></p><p>after</p></body></html>`,
    "5 < 6 && <b>\nafter",
    "T",
  ],
  [
    "with a prefix",
    `<?xml version="1.0"?><h:html xmlns:h="http://www.w3.org/1999/xhtml"><h:head><h:title>T</h:title><h:style>p { }</h:style></h:head>
<h:body><h:p>One</h:p><h:p>Two</h:p><h:table><h:tr><h:td>a</h:td><h:td>b</h:td></h:tr></h:table></h:body></h:html>`,
    "One\nTwo\na\tb",
    "T",
  ],
  [
    "in another encoding",
    Buffer.from(
      '<?xml version="1.0" encoding="iso-8859-1"?><html><head><title>T</title></head><body>Zürich</body></html>',
      "latin1",
    ),
    "Zürich",
    "T",
  ],
];

test.each(XHTML)("the text of XHTML %s", async (_, page, text, title) => {
  ground.put("a.xhtml", page);
  expect(await ground.run("read", { path: "a.xhtml", mode: "extract" })).toMatchObject({ text, meta: { title } });
});

test("a cell of a notebook of nbformat 3 is edited by its number, as a read shows it", async () => {
  ground.put("a.ipynb", file("nbformat3.ipynb"));
  for (const [cell, oldText, newText] of [
    [2, "A heading", "Another heading"],
    [5, "1 / x", "2 / x"],
  ] as const)
    await ground.run("edit", { path: "a.ipynb", cell, edits: [{ oldText, newText }] });
  const { text } = await ground.run("read", { path: "a.ipynb", mode: "extract" });
  expect(text).toContain("[2] heading\nAnother heading\n\n[3] code");
  expect(text).toContain("[5] code\ndef fails(x):\n    return 2 / x\n");
});

describe("the text of a document, with what it says of itself", () => {
  test.each(FILES)("%s", async (name, text, more) => {
    const bytes = file(name);
    ground.put(name, bytes);
    const { mime, ...found } = await ground.run("read", { path: name, mode: "extract" });
    expect(found).toMatchObject({
      ...{ text, chars: text.length, truncated: false, size: bytes.length, etag: etagOfContent(bytes) },
      ...more,
    });
    // A notebook is told by its name alone.
    if (name.endsWith(".ipynb")) return;
    // Without a name its content tells what it is.
    ground.put("unnamed", bytes);
    const unnamed = await ground.run("read", { path: "unnamed", mode: "extract" });
    expect({ text: unnamed.text, mime: unnamed.mime }).toEqual({ text, mime });
  });
});
