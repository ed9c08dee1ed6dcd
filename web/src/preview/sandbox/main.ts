// Runs in the sandboxed frame, on an opaque origin without network: parses, sanitises and shows what it is given.

import DOMPurify from "dompurify";
import { micromark } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";
import style from "./preview.css";

/** Longer texts would hold the page's thread. */
const LONGEST = 1_000_000;

const SANITISE = {
  RETURN_DOM_FRAGMENT: true as const,
  USE_PROFILES: { html: true },
  FORBID_TAGS: [
    "style",
    "form",
    "input",
    "button",
    "select",
    "textarea",
    "dialog",
    "audio",
    "video",
    "source",
    "track",
    "map",
    "area",
    "template",
  ],
  FORBID_ATTR: ["style", "srcset", "ping", "background", "usemap", "target", "autofocus", "contenteditable", "popover"],
  ALLOW_DATA_ATTR: false,
  SANITIZE_NAMED_PROPS: true,
};

interface ToFrame {
  readonly type: string;
  readonly kind?: "markdown" | "html";
  readonly text?: string;
  readonly id?: number;
  readonly bytes?: ArrayBuffer;
  readonly mime?: string;
}

const content = document.getElementById("content") as HTMLElement;
const images = new Map<number, HTMLImageElement>();
let nextImage = 0;
let port: MessagePort | undefined;

const sheet = document.createElement("style");
sheet.textContent = style;
document.head.append(sheet);

addEventListener("message", (event) => {
  const [given] = event.ports;
  if (port !== undefined || given === undefined || event.source !== parent) return;
  port = given;
  given.onmessage = ({ data }: MessageEvent<ToFrame>) => take(data);
});

function take({ type, kind, text = "", id, bytes, mime }: ToFrame): void {
  if (type === "render") show(kind === "html" ? text : undefined, text);
  const image = id === undefined ? undefined : images.get(id);
  if (type === "image" && image !== undefined && bytes !== undefined) {
    image.src = URL.createObjectURL(new Blob([bytes], { type: mime ?? "" }));
  }
}

function show(html: string | undefined, markdown: string): void {
  if ((html ?? markdown).length > LONGEST) {
    content.textContent = "Too large for a preview.";
    return;
  }
  const made =
    html ?? micromark(markdown, { extensions: [gfm()], htmlExtensions: [gfmHtml()], allowDangerousHtml: true });
  const scroll = document.documentElement.scrollTop;
  for (const image of images.values()) if (image.src.startsWith("blob:")) URL.revokeObjectURL(image.src);
  images.clear();
  const fragment = DOMPurify.sanitize(made, SANITISE);
  for (const image of fragment.querySelectorAll("img")) askFor(image);
  for (const box of fragment.querySelectorAll("pre, table")) box.setAttribute("tabindex", "0");
  content.replaceChildren(fragment);
  document.documentElement.scrollTop = scroll;
}

/** The frame loads nothing itself: bytes of images are asked of the page, which knows the root. */
function askFor(image: HTMLImageElement): void {
  const src = image.getAttribute("src") ?? "";
  image.removeAttribute("src");
  if (/^(?:[a-z][a-z\d+.-]*:|\/\/)/i.test(src)) {
    const note = document.createElement("span");
    note.className = "remote";
    note.textContent = `[${image.alt === "" ? "image" : image.alt}]`;
    note.title = "Remote images are not loaded.";
    image.replaceWith(note);
    return;
  }
  nextImage += 1;
  images.set(nextImage, image);
  port?.postMessage({ type: "image", id: nextImage, src });
}

/** No link is followed here. */
const onClick = (event: Event): void => {
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (link === null) return;
  event.preventDefault();
  const href = link.getAttribute("href") ?? "";
  if (href.startsWith("#")) content.querySelector(`#user-content-${CSS.escape(href.slice(1))}`)?.scrollIntoView();
  else port?.postMessage({ type: "link", href });
};
addEventListener("click", onClick, true);
addEventListener("auxclick", onClick, true);
addEventListener("submit", (event) => event.preventDefault(), true);
