// The address of each state of the page: /workspace/<place>/<root>/<path>?…. A directory ends with a slash.

import { signal } from "@preact/signals";
import { base } from "../api/base.js";

export interface Route {
  readonly place: string;
  readonly root: string;
  /** Without slashes at its ends. */
  readonly path: string;
  /** Whether the address names a directory. */
  readonly isDirectory: boolean;
  readonly query: URLSearchParams;
}

const parse = (): Route => {
  const rest = location.pathname.startsWith(base) ? location.pathname.slice(base.length) : "";
  const [place = "", root = "", ...segments] = rest.split("/").map(decode);
  const isDirectory = segments.length === 0 || segments.at(-1) === "";
  const path = segments.filter((segment) => segment !== "").join("/");
  return {
    place: place === "" ? "files" : place,
    root,
    path,
    isDirectory,
    query: new URLSearchParams(location.search),
  };
};

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const route = signal<Route>(parse());
addEventListener("popstate", () => {
  route.value = parse();
});

type Query = Readonly<Record<string, string | number | undefined>>;

/** The address of a place, or of a file or directory in a place. */
export function addressOf(
  place: string,
  root = "",
  path = "",
  options: { directory?: boolean; query?: Query } = {},
): string {
  const segments = path === "" ? [] : path.split("/");
  const names = [place, ...(root === "" ? [] : [root, ...segments])].map(encodeURIComponent).join("/");
  const slash = root !== "" && (options.directory === true || path === "") ? "/" : "";
  const query = Object.entries(options.query ?? {}).filter(
    (pair): pair is [string, string | number] => pair[1] !== undefined,
  );
  const text = query.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&");
  return `${base}${names}${slash}${text === "" ? "" : `?${text}`}`;
}

/** Goes to an address of the page. */
export function navigate(address: string, { replace = false } = {}): void {
  if (address === location.pathname + location.search) return;
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  route.value = parse();
}

/** Links of the page change the state instead of loading it anew. */
export function followLinks(): void {
  document.addEventListener("click", (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link === null || link.target !== "" || link.hasAttribute("download") || link.hash !== "") return;
    const url = new URL(link.href);
    if (url.origin !== location.origin || !url.pathname.startsWith(base)) return;
    event.preventDefault();
    navigate(url.pathname + url.search);
  });
}
