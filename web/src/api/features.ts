// Endpoints that are no operations, as the OpenAPI document tells.

import { signal } from "@preact/signals";
import { request } from "./http.js";

export const offersEvents = signal(false);
/** Whether an upload can go on where it stopped. */
export const takesParts = signal(false);

/** Version of the program that serves the venue. */
export const productVersion = signal("");

/** Asks which endpoints there are. */
export async function loadFeatures(): Promise<void> {
  const response = await request("/openapi.json");
  const { paths = {}, info } = (await response.json()) as {
    readonly paths?: Readonly<Record<string, object>>;
    readonly info?: { readonly version?: string };
  };
  productVersion.value = info?.version ?? "";
  offersEvents.value = Object.hasOwn(paths, "/api/v1/events");
  takesParts.value = Object.hasOwn(paths["/api/v1/files/{root}/{path}"] ?? {}, "patch");
}
