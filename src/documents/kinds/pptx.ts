// PowerPoint: slides in the order in which they are shown, hidden ones too, without notes of the speaker.

import type { PageRange } from "../../core/call/documents.js";
import { type Flow, textHandler } from "../flow.js";
import { clamped } from "../kinds.js";
import type { Package } from "../package.js";
import { type Attributes, attribute, prefixed } from "../xml.js";
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
    // Numbers of slides, and second spellings of what stands beside them.
    const isLeftOut = (name: string, attributes: Attributes): boolean =>
      name === "Fallback" || (name === "fld" && attribute(attributes, "type") === "slidenum");
    await file.read(
      slide,
      textHandler(flow, (name, attributes) => (isLeftOut(name, attributes) ? "skip" : undefined)),
    );
  }
}
