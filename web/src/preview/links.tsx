// Opens links of a preview: files of the same root, or addresses elsewhere once the user confirms.

import type { Buffer } from "../editor/buffers.js";
import { texts } from "../texts.js";
import { Dialog, showDialog } from "../ui/dialog.js";
import { parentOf, plain } from "../ui/format.js";
import { addressOf, navigate } from "../ui/router.js";

/** The path in the root that a relative reference names. `undefined`: it leads out, or is none. */
export function resolveIn(from: string, reference: string): string | undefined {
  if (reference === "" || /^(?:[a-z][a-z\d+.-]*:|\/\/|#|\\)/i.test(reference)) return undefined;
  const [encoded = ""] = reference.split(/[?#]/, 1);
  let path: string;
  try {
    path = decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
  const segments = path.startsWith("/")
    ? []
    : parentOf(from)
        .split("/")
        .filter((one) => one !== "");
  for (const segment of path.split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") segments.push(segment);
    else if (segments.pop() === undefined) return undefined;
  }
  return segments.length === 0 || segments.some((one) => /[\\\0]/.test(one)) ? undefined : segments.join("/");
}

/** Only these leave the page; `javascript:` and the like lead nowhere. */
const OUTSIDE = /^(?:https?|mailto):/i;

export function followPreviewLink(buffer: Buffer, href: string): void {
  const path = resolveIn(buffer.path, href);
  if (path !== undefined) {
    navigate(addressOf("files", buffer.root, path, { directory: href.split(/[?#]/, 1)[0]?.endsWith("/") === true }));
    return;
  }
  if (!OUTSIDE.test(href) || !URL.canParse(href)) return;
  const target = new URL(href).href;
  void showDialog<void>((close) => (
    <Dialog
      title={texts.externalLink}
      onClose={() => close()}
      footer={
        <>
          <button type="button" onClick={() => close()}>
            {texts.cancel}
          </button>
          <button
            type="button"
            class="primary"
            data-autofocus
            onClick={() => {
              open(target, "_blank", "noopener,noreferrer");
              close();
            }}
          >
            {texts.openLink}
          </button>
        </>
      }
    >
      <p>
        <code class="target">{plain(target)}</code>
      </p>
    </Dialog>
  ));
}
