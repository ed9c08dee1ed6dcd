// Images, SVG too, are <img> on a blob: no script in them runs, and nothing is navigated to.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { request } from "../../api/http.js";
import { texts } from "../../texts.js";
import { nameOf, plain } from "../../ui/format.js";
import { Failure, Skeleton } from "../../ui/states.js";
import { extensionOf, IMAGE_TYPES } from "../kinds.js";

const LARGEST_BYTES = 64 * 1024 * 1024;

/** The bytes of a file as an image. @param version of the history; absent: as it is now @throws ApiError */
export async function imageBlob(
  root: string,
  path: string,
  options: { signal?: AbortSignal; version?: string } = {},
): Promise<Blob> {
  const place = [root, ...path.split("/")].map(encodeURIComponent).join("/");
  const query = options.version === undefined ? "" : `?version=${encodeURIComponent(options.version)}`;
  const response = await request(`/api/v1/files/${place}${query}`, { signal: options.signal });
  const type = IMAGE_TYPES[extensionOf(nameOf(path))] ?? "application/octet-stream";
  return new Blob([await response.arrayBuffer()], { type });
}

interface ImageProps {
  readonly root: string;
  readonly path: string;
  readonly size: number;
  readonly version?: string;
}

export function ImageView({ root, path, size, version }: ImageProps): JSX.Element {
  const [source, setSource] = useState<string | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  useEffect(() => {
    const own = new AbortController();
    let url = "";
    if (size <= LARGEST_BYTES) {
      imageBlob(root, path, { signal: own.signal, ...(version === undefined ? {} : { version }) }).then(
        (blob) => {
          url = URL.createObjectURL(blob);
          setSource(url);
        },
        (failure: unknown) => own.signal.aborted || setError(failure),
      );
    }
    return () => {
      own.abort();
      if (url !== "") URL.revokeObjectURL(url);
    };
  }, [root, path, version]);
  if (size > LARGEST_BYTES) return <p class="note">{texts.previewTooLarge}</p>;
  if (error !== undefined) return <Failure error={error} />;
  if (source === undefined) return <Skeleton rows={4} />;
  return (
    <div class="image">
      <img src={source} alt={plain(nameOf(path))} />
    </div>
  );
}
