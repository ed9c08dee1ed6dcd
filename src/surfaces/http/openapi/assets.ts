// OpenAPI for assets.

import type { JsonObject } from "../../../core/ports/adapter.js";
import {
  ANY_TYPE,
  answers,
  BINARY,
  endpointsOf,
  headerParameter,
  jsonAnswer,
  jsonBody,
  location,
  type OpenApiPart,
  object,
  PAGE_PARAMETERS,
  pageOf,
  pathParameter,
  queryParameter,
  schemaRef,
} from "./parts.js";

const endpoint = endpointsOf("Assets");
const REFERENCE = [pathParameter("ref", "An id, or one of `0x<id>`, `a/<id>`, `/a/<id>` and `<venue DID>/a/<id>`")];
const text = { type: "string" };

/** OpenAPI for assets: metadata under content-derived ids, and content. */
export function assetPart(): OpenApiPart {
  return { paths: { ...collectionPath(), ...ASSET_PATH, ...contentPath() }, schemas: ASSET_SCHEMAS };
}

function collectionPath(): JsonObject {
  const scope = queryParameter("scope", "`own`: what the caller registered, with names", { type: "string" });
  const expand = queryParameter("expand", "`metadata`: ids with their metadata", { type: "string" });
  return {
    "/api/v1/assets": {
      post: endpoint("registerAsset", "Register metadata; the same again gives the same id", {
        requestBody: jsonBody(schemaRef("AssetMetadata")),
        responses: answers({ 201: jsonAnswer("The id", schemaRef("AssetId"), location("the asset")) }, 413, 507),
      }),
      get: endpoint("listAssets", "List assets, newest first", {
        parameters: [...PAGE_PARAMETERS, scope, expand],
        responses: answers({
          200: jsonAnswer("Ids, or what the caller registered", {
            anyOf: [schemaRef("AssetList"), schemaRef("OwnAssetList"), schemaRef("ExpandedAssetList")],
          }),
        }),
      }),
    },
  };
}

const ASSET_PATH: JsonObject = {
  "/api/v1/assets/{ref}": {
    parameters: REFERENCE,
    get: endpoint("getAsset", "Read metadata as it was registered", {
      responses: answers({ 200: jsonAnswer("Metadata", schemaRef("AssetMetadata")) }, 404),
    }),
  },
};

function contentPath(): JsonObject {
  const hash = { type: "string", pattern: "^0x[0-9a-f]{64}$", description: "`0x` and the SHA-256 of the content" };
  const headers = {
    ETag: { description: "The SHA-256 of the content in quotes", schema: text },
    "Content-Disposition": { description: "`attachment`, or `inline` where that is safe", schema: text },
    "Accept-Ranges": { description: "`bytes`", schema: text },
  };
  const inline = queryParameter("inline", "Show it in place, where its type is one that runs nothing", text);
  const range = headerParameter("Range", "One range of bytes");
  const known = headerParameter("If-None-Match", "The ETag one has");
  const get = (operationId: string): JsonObject =>
    endpoint(operationId, "Read content", {
      parameters: [inline, range, known],
      responses: answers(
        {
          200: { description: "All of it", headers, content: ANY_TYPE },
          206: { description: "The range", headers, content: ANY_TYPE },
          304: { description: "It is the one that is known", headers: { ETag: headers.ETag } },
        },
        404,
        416,
      ),
    });
  return {
    "/api/v1/content/{ref}": { parameters: REFERENCE, get: get("getContent") },
    "/api/v1/assets/{ref}/content": {
      parameters: REFERENCE,
      put: endpoint("putAssetContent", "Store the content whose SHA-256 the metadata names", {
        requestBody: { required: true, content: BINARY },
        responses: answers({ 200: jsonAnswer("Stored", hash) }, 404, 413, 507),
      }),
      get: get("getAssetContent"),
    },
  };
}

const ASSET_SCHEMAS: JsonObject = {
  AssetId: {
    type: "string",
    pattern: "^[0-9a-f]{64}$",
    description: "SHA-256 of the canonical JSON of the metadata",
  },
  AssetMetadata: {
    type: "object",
    description:
      "Any JSON object. With `content.sha256` content can be stored for it; with `operation` it describes an operation.",
    examples: [{ name: "Report", content: { sha256: "e3b0c442…", contentType: "text/plain", fileName: "report.txt" } }],
  },
  AssetList: pageOf(schemaRef("AssetId")),
  ExpandedAssetList: pageOf(object({ id: schemaRef("AssetId"), metadata: schemaRef("AssetMetadata") })),
  OwnAssetList: pageOf(
    object({ id: schemaRef("AssetId"), name: text, type: text, description: text }, ["name", "type", "description"]),
  ),
};
