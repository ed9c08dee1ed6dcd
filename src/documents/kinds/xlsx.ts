// Excel: sheets in order, a row a line, cells by tabs.

import { Unreadable } from "../ending.js";
import type { Flow } from "../flow.js";
import { type Package, relationOf } from "../package.js";
import { attribute, prefixed } from "../xml.js";
import { readProperties, sheetName, sheetNames } from "./properties.js";

/** Tables that cells refer to. */
interface Book {
  readonly strings: readonly string[];
  /** Form of a number in each style; absent: the number itself. */
  readonly styles: readonly (Shows | undefined)[];
  readonly from1904: boolean;
}

/** Columns of a sheet, as Excel has them. */
const MAX_COLUMNS = 16_384;

export async function readXlsx(file: Package, flow: Flow): Promise<void> {
  const { part, meta } = await readProperties(file, "xl/workbook.xml");
  const sheets: { name: string; id: string }[] = [];
  let from1904 = false;
  await file.read(part, {
    open: (name, attributes) => {
      if (name === "workbookPr") from1904 = isTrue(attribute(attributes, "date1904"));
      if (name !== "sheet") return;
      sheets.push({ name: sheetName(attribute(attributes, "name")), id: prefixed(attributes, "id") ?? "" });
    },
  });
  if (sheets.length === 0) throw new Unreadable("damaged");
  flow.facts({ meta: { ...meta, sheets: sheetNames(sheets.map(({ name }) => name)) } });
  const relations = await file.relations(part);
  const strings = await readStrings(file, relationOf(relations, "sharedStrings"));
  const book = { strings, styles: await readStyles(file, relationOf(relations, "styles")), from1904 };
  for (const { name, id } of sheets) {
    const relation = relations.get(id);
    // Sheets of charts have no cells.
    if (relation?.type !== "worksheet") continue;
    flow.unit({ is: "sheet", at: name });
    await readSheet(file, relation.target, { book, flow });
  }
}

const isTrue = (value: string | undefined): boolean => value === "1" || value === "true";

async function readStrings(file: Package, part: string | undefined): Promise<readonly string[]> {
  const strings: string[] = [];
  let text = "";
  let isText = false;
  await file.readIfThere(part, {
    open: (name) => {
      // How a text is pronounced stands beside it.
      if (name === "rPh") return "skip";
      isText = name === "t";
      if (name === "si") text = "";
      return undefined;
    },
    text: (found) => {
      if (isText) text += found;
    },
    close: (name) => {
      isText = false;
      if (name === "si") strings.push(text);
    },
  });
  return strings;
}

async function readStyles(file: Package, part: string | undefined): Promise<readonly (Shows | undefined)[]> {
  const codes = new Map<number, string>();
  const styles: (Shows | undefined)[] = [];
  let isCells = false;
  await file.readIfThere(part, {
    open: (name, attributes) => {
      const id = Number(attribute(attributes, "numFmtId"));
      if (name === "numFmt") codes.set(id, attribute(attributes, "formatCode") ?? "");
      if (name === "cellXfs") isCells = true;
      if (name === "xf" && isCells) styles.push(showsOf(id, codes.get(id)));
    },
    close: (name) => {
      if (name === "cellXfs") isCells = false;
    },
  });
  return styles;
}

interface Cell {
  readonly column: number;
  readonly type: string;
  readonly style: number;
  value: string;
}

async function readSheet(file: Package, part: string, { book, flow }: { book: Book; flow: Flow }): Promise<void> {
  /** Columns of the row that are written, and the next one. */
  let [written, next] = [0, 0];
  let cell: Cell | undefined;
  let isText = false;
  await file.read(part, {
    open: (name, attributes) => {
      if (name === "rPh") return "skip";
      isText = name === "v" || name === "t";
      if (name === "row") [written, next] = [0, 0];
      if (name === "c") {
        const column = Math.max(next, columnOf(attribute(attributes, "r")) ?? next);
        const type = attribute(attributes, "t") ?? "n";
        cell = { column, type, style: Number(attribute(attributes, "s") ?? 0), value: "" };
      }
      return undefined;
    },
    text: (text) => {
      if (isText && cell !== undefined) cell.value += text;
    },
    close: (name) => {
      isText = false;
      if (name === "c" && cell !== undefined) {
        const text = shown(cell, book).replace(/\s+/g, " ").trim();
        next = Math.min(cell.column + 1, MAX_COLUMNS);
        if (text !== "") {
          flow.text("\t".repeat(cell.column - written));
          flow.text(text);
          written = cell.column;
        }
        cell = undefined;
      }
      // Rows without any text are left out.
      if (name === "row") flow.break();
    },
  });
}

/** `C7` → 2. */
function columnOf(reference: string | undefined): number | undefined {
  const letters = /^[A-Z]{1,3}/i.exec(reference ?? "")?.[0].toUpperCase();
  if (letters === undefined) return undefined;
  let column = 0;
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64;
  return Math.min(column, MAX_COLUMNS) - 1;
}

function shown({ type, style, value }: Cell, { strings, styles, from1904 }: Book): string {
  if (value === "") return "";
  if (type === "s") return strings[Number(value)] ?? "";
  if (type === "b") return value === "1" ? "TRUE" : "FALSE";
  if (type !== "n") return value;
  const number = Number(value);
  if (!Number.isFinite(number)) return value;
  const shows = styles[style];
  // A double has 15 digits that were typed; the others are those of its binary form.
  return (shows && dateText(number, shows, from1904)) ?? String(Number(number.toPrecision(15)));
}

// Formats of numbers that show dates and times.

/** Parts of a date or time that a format shows. */
interface Shows {
  readonly date: boolean;
  readonly time: boolean;
}

const DATE: Shows = { date: true, time: false };
const TIME: Shows = { date: false, time: true };
const BOTH: Shows = { date: true, time: true };

/** Formats that stand in no file; from 27 on those of eastern calendars (ECMA-376, 18.8.30). */
const BUILT_IN: readonly (readonly [from: number, to: number, shows: Shows])[] = [
  [14, 17, DATE],
  [18, 21, TIME],
  [22, 22, BOTH],
  [27, 31, DATE],
  [32, 35, TIME],
  [36, 36, DATE],
  [45, 47, TIME],
  [50, 58, DATE],
];

/** @param code of the format, if the file has it @returns `undefined`: it shows a number */
function showsOf(id: number, code: string | undefined): Shows | undefined {
  if (code === undefined) return BUILT_IN.find(([from, to]) => id >= from && id <= to)?.[2];
  // Without texts, escaped characters, and brackets but those of elapsed times.
  const bare = code
    .replace(/"[^"]*"|\\.|[_*]./g, "")
    .replace(/\[(?!h+\]|m+\]|s+\])[^\]]*\]/gi, "")
    .split(";", 1)
    .join("")
    .toLowerCase();
  if (/general/.test(bare)) return undefined;
  const time = /[hs]/.test(bare) || /\[m+\]/.test(bare);
  const date = /[dy]/.test(bare) || (!time && /m/.test(bare));
  return date || time ? { date, time } : undefined;
}

const DAY_MS = 86_400_000;
/** Days from the beginning of the calendar to 1970, and between both calendars. */
const TO_1970 = 25_569;
const BETWEEN = 1462;
/** The calendar has a 29 February 1900, which never was. */
const LEAP = 60;
/** The first second after 9999. */
const END_DAYS = 2_958_466;

/** A number of days as ISO 8601, to the second. `undefined`: it is outside the calendar */
function dateText(number: number, { date, time }: Shows, from1904: boolean): string | undefined {
  const days = from1904 && date ? number + BETWEEN : number;
  if (days < 0 || days >= END_DAYS) return undefined;
  const seconds = Math.round((days * DAY_MS) / 1000);
  const clock = [Math.floor(seconds / 3600) % (date ? 24 : Number.POSITIVE_INFINITY), (seconds / 60) % 60, seconds % 60]
    .map((one) => String(Math.floor(one)).padStart(2, "0"))
    .join(":");
  if (!date) return clock;
  const day = Math.floor(seconds / 86_400);
  const iso = new Date((day - TO_1970 + (day < LEAP ? 1 : 0)) * DAY_MS).toISOString().slice(0, 10);
  return time ? `${iso}T${clock}` : iso;
}
