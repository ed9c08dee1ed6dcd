// Small PDF files, made by hand.

import { constants, deflateRawSync, deflateSync } from "node:zlib";

/** An object of a PDF: its dictionary, and a stream after it. */
interface PdfObject {
  readonly dictionary: string;
  readonly stream?: Buffer;
}

/** The number of the first further object where there is one page; without such, nothing draws it. */
const FIRST_FORM = 6;

const page = (number: number, contents: number): PdfObject => ({
  dictionary: `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents ${contents} 0 R
    /Resources << /Font << /F1 3 0 R >> /XObject << /X ${FIRST_FORM} 0 R >> >> /StructParents ${number} >>`,
});

const streamOf = (stream: Buffer, filter = ""): PdfObject => ({
  dictionary: `<< /Length ${stream.length}${filter} >>`,
  stream,
});

/** Draws lines of text, one below the other. */
const drawn = (text: string): Buffer =>
  Buffer.from(
    `BT /F1 12 Tf 14 TL 20 250 Td ${text
      .split("\n")
      .map((line) => `(${line}) Tj T* `)
      .join("")}ET`,
  );

/** More entries of the trailer, and more objects, behind those of the pages. */
interface Extras {
  readonly trailer?: string;
  readonly more?: readonly PdfObject[];
}

/** A PDF with a page for each stream of contents. */
function pdfOf(contents: readonly PdfObject[], { trailer = "", more = [] }: Extras = {}): Buffer {
  const first = 4;
  const kids = contents.map((_, index) => `${first + 2 * index} 0 R`).join(" ");
  const objects: PdfObject[] = [
    { dictionary: "<< /Type /Catalog /Pages 2 0 R >>" },
    { dictionary: `<< /Type /Pages /Kids [${kids}] /Count ${contents.length} >>` },
    { dictionary: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>" },
    ...contents.flatMap((content, index) => [page(index, first + 2 * index + 1), content]),
    ...more,
  ];
  // Bytes above 127 in the second line say that the file is no text.
  const parts: Buffer[] = [Buffer.from("%PDF-1.7\n%\xff\xfe\xfd\xfc\n", "latin1")];
  let at = parts[0]?.length ?? 0;
  const offsets: number[] = [];
  const add = (bytes: Buffer): void => {
    parts.push(bytes);
    at += bytes.length;
  };
  for (const [index, { dictionary, stream }] of objects.entries()) {
    offsets.push(at);
    add(Buffer.from(`${index + 1} 0 obj\n${dictionary}\n`));
    if (stream !== undefined) {
      add(Buffer.from("stream\n"));
      add(stream);
      add(Buffer.from("\nendstream\n"));
    }
    add(Buffer.from("endobj\n"));
  }
  const table = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const start = at;
  const size = objects.length + 1;
  add(Buffer.from(`xref\n0 ${size}\n0000000000 65535 f \n${table}`));
  add(Buffer.from(`trailer\n<< /Size ${size} /Root 1 0 R${trailer} >>\nstartxref\n${start}\n%%EOF\n`));
  return Buffer.concat(parts);
}

/** A PDF with these texts as pages. Lines end with a line feed. */
export const pdfWith = (...pages: readonly string[]): Buffer => pdfOf(pages.map((text) => streamOf(drawn(text))));

/** As {@link pdfWith}, with compressed pages. */
export const compressedPdf = (...pages: readonly string[]): Buffer =>
  pdfOf(pages.map((text) => streamOf(deflateSync(drawn(text)), " /Filter /FlateDecode")));

/** Encrypted with a password that nobody has: neither the keys nor the texts are of any. */
export const encryptedPdf = (): Buffer =>
  pdfOf([streamOf(drawn("secret"))], {
    trailer: ` /ID [<00112233445566778899aabbccddeeff> <00112233445566778899aabbccddeeff>]
      /Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O <${"5a".repeat(32)}> /U <${"a5".repeat(32)}> >>`,
  });

/** A table of offsets that lead nowhere. */
export const damagedTable = (...pages: readonly string[]): Buffer =>
  Buffer.from(
    pdfWith(...pages)
      .toString("latin1")
      .replace(/^\d{10} 00000 n/gm, "0000999999 00000 n"),
    "latin1",
  );

/** A second page that unpacks to that many megabytes of blanks. */
export function bombPdf(megabytes: number): Buffer {
  // A block that ends with a full flush refers to nothing before it, so it may be repeated.
  const block = deflateRawSync(Buffer.alloc(1_048_576, " "), { finishFlush: constants.Z_FULL_FLUSH });
  const blocks = Buffer.concat([Buffer.from("789c", "hex"), ...Array<Buffer>(megabytes).fill(block)]);
  return pdfOf([streamOf(drawn("before")), streamOf(blocks, " /Filter /FlateDecode")]);
}

/** One page that draws a form twice, which draws the next form twice, and so on: 2 to the power of `depth` times a letter. */
export function doublingPdf(depth: number): Buffer {
  const forms = Array.from({ length: depth }, (_, index): PdfObject => {
    const stream = index + 1 === depth ? drawn("x") : Buffer.from("/X Do /X Do");
    const resources = `<< /Font << /F1 3 0 R >> /XObject << /X ${FIRST_FORM + index + 1} 0 R >> >>`;
    const facts = `/Type /XObject /Subtype /Form /BBox [0 0 300 300] /Resources ${resources}`;
    return { dictionary: `<< ${facts} /Length ${stream.length} >>`, stream };
  });
  return pdfOf([streamOf(Buffer.from("/X Do /X Do"))], { more: forms });
}
