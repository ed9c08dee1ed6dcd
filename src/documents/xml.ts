// XML of documents, read as it comes.

import { Ended, Unreadable } from "./ending.js";

const MAX_LEVELS = 512;

/** Hears of elements by their names without prefixes. */
export interface XmlHandler {
  /** @returns `skip`: nothing in the element is told, nor its end */
  open?(name: string, attributes: Attributes): "skip" | unknown;
  close?(name: string): void;
  text?(text: string): void;
}

/** By names with their prefixes. */
export type Attributes = Readonly<Record<string, string>>;

/** The attribute of a name, whatever its prefix. */
export function attribute(attributes: Attributes, name: string): string | undefined {
  const own = attributes[name];
  if (own !== undefined) return own;
  for (const key in attributes) if (key.endsWith(`:${name}`)) return attributes[key];
  return undefined;
}

/** The attribute of a name that has a prefix, beside which stands one without. */
export const prefixed = (attributes: Attributes, name: string): string | undefined =>
  Object.entries(attributes).find(([key]) => key.endsWith(`:${name}`))?.[1];

const localOf = (name: string): string => name.slice(name.indexOf(":") + 1);

/** @throws Unreadable if it is not well-formed, or has a document type; Ended; as the handler and the source do */
export async function readXml(source: AsyncIterable<Buffer>, handler: XmlHandler): Promise<void> {
  const { SaxesParser } = await import("saxes");
  const parser = new SaxesParser({ xmlns: false, position: false });
  let depth = 0;
  /** Depth of the element that is left out. */
  let skipped = Number.POSITIVE_INFINITY;
  parser.on("error", fail);
  parser.on("doctype", fail);
  parser.on("opentag", ({ name, attributes }) => {
    if (++depth > MAX_LEVELS) throw new Ended("spent");
    if (depth < skipped && handler.open?.(localOf(name), attributes) === "skip") skipped = depth;
  });
  parser.on("closetag", ({ name }) => {
    if (depth < skipped) handler.close?.(localOf(name));
    if (depth-- === skipped) skipped = Number.POSITIVE_INFINITY;
  });
  const text = (found: string) => depth < skipped && handler.text?.(found);
  parser.on("text", text);
  parser.on("cdata", text);
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  for await (const chunk of source) {
    decoder ??= new TextDecoder(encodingOf(chunk), { fatal: true });
    parser.write(decode(decoder, chunk));
  }
  if (decoder !== undefined) parser.write(decode(decoder));
  parser.close();
}

function fail(): never {
  throw new Unreadable("damaged");
}

/** @param chunk absent: there is no further one */
function decode(decoder: InstanceType<typeof TextDecoder>, chunk?: Buffer): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch {
    return fail();
  }
}

function encodingOf(head: Buffer): string {
  if (head[0] === 0xff && head[1] === 0xfe) return "utf-16le";
  return head[0] === 0xfe && head[1] === 0xff ? "utf-16be" : "utf-8";
}
