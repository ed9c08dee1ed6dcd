// Downloads by a ticket, which is the only token that ever stands in a URL; the answer is an attachment.

import { venuePath } from "../../api/base.js";
import { read } from "../../api/call.js";
import { notifyFailure } from "../../ui/notices.js";

/** The path of a link that reads one file for some minutes. */
export async function ticketFor(root: string, path: string): Promise<string> {
  const { href } = await read("file:transfer", { root, path, direction: "download" });
  const { pathname, search } = new URL(href, location.href);
  // The venue may know itself by another host name, so the page uses its own origin.
  return `${venuePath}${pathname.slice(pathname.indexOf("/api/v1/files/"))}${search}`;
}

export async function download(root: string, path: string): Promise<void> {
  try {
    const link = document.createElement("a");
    link.href = await ticketFor(root, path);
    link.download = "";
    link.click();
  } catch (error) {
    notifyFailure(error);
  }
}
