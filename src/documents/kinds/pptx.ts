// PowerPoint: slides in the order in which they are shown, hidden ones too, without notes of the speaker.

import type { PageRange } from "../../core/call/documents.js";
import type { Flow } from "../flow.js";
import type { Package } from "../package.js";
import { attribute, prefixed, type XmlHandler } from "../xml.js";
import { clamped } from "./pages.js";
import { readProperties } from "./properties.js";

export async function readPptx(file: Package, flow: Flow, pages: PageRange | undefined): Promise<void> {
  const { part, meta } = await readProperties(file, "ppt/presentation.xml");
  const ids: string[] = [];
  await file.read(part, {
    open: (name, attributes) => {
      if (name === "sldId") ids.push(prefixed(attributes, "id") ?? "");
    },
  });
  const relations = await file.relations(part);
  const slides = ids.flatMap((id) => relations.get(id)?.target ?? []);
  flow.facts({ meta, count: slides.length });
  const { first, last } = clamped(pages, slides.length);
  for (const [index, slide] of slides.entries()) {
    if (index + 1 < first || index + 1 > last) continue;
    flow.unit({ is: "slide", at: index + 1 });
    await file.read(slide, handlerOf(flow));
  }
}

function handlerOf(flow: Flow): XmlHandler {
  let isText = false;
  return {
    open(name, attributes) {
      // Numbers of slides, and second spellings of what stands beside them.
      if (name === "Fallback" || (name === "fld" && attribute(attributes, "type") === "slidenum")) return "skip";
      isText = name === "t";
      if (name === "br") flow.end();
      if (name === "tr") flow.openRow();
      if (name === "tc") flow.openCell();
      return undefined;
    },
    close(name) {
      isText = false;
      if (name === "p") flow.end();
      if (name === "tr") flow.closeRow();
    },
    text(text) {
      if (isText) flow.text(text.replace(/[\r\n\v]+/g, " "));
    },
  };
}
