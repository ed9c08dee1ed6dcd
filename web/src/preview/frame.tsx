// The preview of markdown and HTML: text goes into a frame of an opaque origin, clicks on links come out.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { base } from "../api/base.js";
import type { Buffer } from "../editor/buffers.js";
import { imageBlob } from "../files/viewing/image-view.js";
import { texts } from "../texts.js";
import { nameOf } from "../ui/format.js";
import { followPreviewLink, resolveIn } from "./links.js";

/** Messages of the frame, not trusted since the frame shows content of a root. */
interface FromFrame {
  readonly type?: unknown;
  readonly href?: unknown;
  readonly src?: unknown;
  readonly id?: unknown;
}

const RENDER_MS = 150;
const MAX_IMAGES = 200;

interface FrameProps {
  readonly buffer: Buffer;
  readonly kind: "markdown" | "html";
}

export function PreviewFrame({ buffer, kind }: FrameProps): JSX.Element {
  const frame = useRef<HTMLIFrameElement>(null);
  const port = useRef<MessagePort | undefined>(undefined);
  const send = () => port.current?.postMessage({ type: "render", kind, text: buffer.text() });
  useEffect(() => {
    // Typing changes the text without a signal of its own, so the text is compared at rest.
    let shown = "";
    const timer = setInterval(() => {
      const text = buffer.isDirty.value ? buffer.text() : buffer.base;
      if (text !== shown && port.current !== undefined) {
        shown = text;
        send();
      }
    }, RENDER_MS);
    return () => clearInterval(timer);
  }, [buffer, kind]);
  const onLoad = () => {
    const { port1, port2 } = new MessageChannel();
    port.current?.close();
    port.current = port1;
    let images = 0;
    port1.onmessage = ({ data }: MessageEvent<FromFrame>) => {
      if (data.type === "link" && typeof data.href === "string") followPreviewLink(buffer, data.href);
      if (data.type === "image" && typeof data.src === "string" && typeof data.id === "number" && images < MAX_IMAGES) {
        images += 1;
        void sendImage(buffer, port1, data.src, data.id);
      }
    };
    frame.current?.contentWindow?.postMessage({ type: "port" }, "*", [port2]);
    send();
  };
  useEffect(() => () => port.current?.close(), []);
  return (
    <iframe
      class="preview"
      ref={frame}
      src={`${base}preview`}
      sandbox="allow-scripts"
      title={texts.previewTitle(nameOf(buffer.path))}
      onLoad={onLoad}
    />
  );
}

/** Images of the same root, as bytes; what is elsewhere is never loaded. */
async function sendImage(buffer: Buffer, port: MessagePort, src: string, id: number): Promise<void> {
  const path = resolveIn(buffer.path, src);
  if (path === undefined) return;
  try {
    const blob = await imageBlob(buffer.root, path);
    port.postMessage({ type: "image", id, bytes: await blob.arrayBuffer(), mime: blob.type });
  } catch {
    // The frame shows the text in place of an image that cannot be read.
  }
}
