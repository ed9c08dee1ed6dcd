// Icon and viewer of an entry, by its name and type.

import {
  AppWindow,
  File,
  FileArchive,
  FileAudio,
  FileCode,
  FileImage,
  FileText,
  FileVideo,
  Folder,
  Link,
} from "lucide";
import { joinPath } from "../ui/format.js";

export type ShownAs = "text" | "markdown" | "html" | "image" | "audio" | "video" | "bytes";

const IMAGES = new Set(["png", "jpg", "jpeg", "gif", "webp", "bmp", "avif", "ico", "svg"]);
const AUDIO = new Set(["mp3", "wav", "ogg", "oga", "flac", "m4a", "opus"]);
const VIDEO = new Set(["mp4", "webm", "mov", "m4v", "ogv"]);
const ARCHIVES = new Set(["zip", "gz", "tgz", "tar", "bz2", "xz", "7z", "zst", "br", "jar"]);
const CODE = new Set(
  "js mjs cjs ts mts cts tsx jsx py rb go rs java kt c h cc cpp hpp cs swift sh bash zsh ps1 sql php pl lua r scala html htm css scss vue svelte json json5 yaml yml toml xml ini".split(
    " ",
  ),
);

const TEXT = new Set(["txt", "md", "markdown", "log", "csv", "tsv"]);

export const extensionOf = (name: string): string => (/\.([^./]+)$/.exec(name)?.[1] ?? "").toLowerCase();

const INSIDE = /\.(?:zip|jar|tar|tar\.gz|tgz)!(?:\/|$)/i;

/** Whether a path leads into an archive, where nothing can be changed or downloaded. */
export const isInArchive = (path: string): boolean => INSIDE.test(path);

/** Where an entry of a folder opens: an archive as the folder of what is in it, unless it lies in another. */
export function openedAt(folder: string, name: string, type: string): { path: string; directory: boolean } {
  const path = joinPath(folder, name);
  const isArchive = type === "file" && !isInArchive(folder) && INSIDE.test(`${name}!`);
  return isArchive ? { path: `${path}!`, directory: true } : { path, directory: type === "directory" };
}

/** How a file is shown by its name; the content decides between text and bytes. */
export function shownAs(name: string): ShownAs {
  const extension = extensionOf(name);
  if (IMAGES.has(extension)) return "image";
  if (AUDIO.has(extension)) return "audio";
  if (VIDEO.has(extension)) return "video";
  if (extension === "md" || extension === "markdown") return "markdown";
  return extension === "html" || extension === "htm" ? "html" : "text";
}

/** Whether a name says that the file is text, so that it is read as such at once. */
export function isTextName(name: string): boolean {
  const extension = extensionOf(name);
  return CODE.has(extension) || TEXT.has(extension);
}

export function iconOf(type: string, name: string): unknown {
  if (type === "directory") return Folder;
  if (type === "symlink") return Link;
  if (type === "other") return AppWindow;
  const extension = extensionOf(name);
  if (CODE.has(extension)) return FileCode;
  if (ARCHIVES.has(extension)) return FileArchive;
  const icons = {
    image: FileImage,
    audio: FileAudio,
    video: FileVideo,
    markdown: FileText,
    html: FileCode,
    text: File,
    bytes: File,
  };
  return extension === "txt" ? FileText : icons[shownAs(name)];
}

/** Media types of images, by which the browser reads the bytes; names alone are trusted for nothing else. */
export const IMAGE_TYPES: Readonly<Record<string, string>> = {
  ...{ png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp" },
  ...{ bmp: "image/bmp", avif: "image/avif", ico: "image/x-icon", svg: "image/svg+xml" },
};
