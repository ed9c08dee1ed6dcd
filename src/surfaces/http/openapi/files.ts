// OpenAPI for `/api/v1/files`.

import type { JsonObject } from "../../../core/ports/adapter.js";
import {
  ANY_TYPE,
  answers,
  BINARY,
  endpointsOf,
  headerParameter,
  type OpenApiPart,
  pathParameter,
  queryParameter,
} from "./parts.js";

const endpoint = endpointsOf("Files");
const text = { type: "string" };
const PLACE = [
  pathParameter("root", "Name of a root"),
  pathParameter(
    "path",
    "Below the root, percent-encoded; slashes in it as they are or as `%2F`, with a ticket as they are",
  ),
  queryParameter("ticket", "One from `file:transfer`, in place of credentials", text),
];
const HEADERS = {
  ETag: { description: 'The SHA-256 of the content, `"sha256:<hex>"`, where it is known', schema: text },
};

/** OpenAPI for whole files. */
export function filePart(): OpenApiPart {
  return {
    paths: {
      "/api/v1/files/{root}/{path}": {
        parameters: PLACE,
        get: read("getFile"),
        head: read("headFile"),
        put: PUT,
        patch: patch(),
      },
    },
    schemas: {},
  };
}

function read(operationId: string): JsonObject {
  const isHead = operationId === "headFile";
  const body = isHead ? {} : { content: ANY_TYPE };
  return endpoint(operationId, isHead ? "Size, type and version of a file" : "Read a file, or one range of it", {
    parameters: [
      queryParameter("version", "As it was: `<entry id>:before` or `:after` a change in its history", {
        type: "string",
      }),
      headerParameter("Range", "One range of bytes"),
      headerParameter("If-Range", "The ETag that the range is of"),
      headerParameter("If-None-Match", "The ETag one has"),
    ],
    responses: answers(
      {
        200: { description: "All of it", headers: HEADERS, ...body },
        ...(isHead ? {} : { 206: { description: "The range", headers: HEADERS, ...body } }),
        304: { description: "It is the one that is known", headers: HEADERS },
      },
      ...([404, 409, 416, 504] as const),
    ),
  });
}

const PUT = endpoint("putFile", "Make the body the content of a file, at once when all of it is there", {
  parameters: [
    queryParameter("parents", "Make missing directories", { type: "boolean", default: false }),
    headerParameter("If-Match", "The ETag that the file must have"),
    headerParameter("If-None-Match", "`*`: there must be no such file"),
    headerParameter("Venue-Approval", "Id of an approval, where the root asks a person"),
    headerParameter("Idempotency-Key", "Names this upload: repeating it within an hour has no second effect"),
  ],
  requestBody: { required: true, content: BINARY },
  responses: answers(
    {
      201: { description: "There is a new file", headers: HEADERS },
      204: { description: "The file has this content now", headers: HEADERS },
    },
    ...([404, 409, 412, 413, 504, 507] as const),
  ),
});

function patch(): JsonObject {
  const description = "Bytes that the file must have, from 0 for a new one";
  const offset = { description: "Bytes that the file has now", schema: { type: "integer" } };
  return endpoint(
    "patchFile",
    "Add the body to a file: the next part of an upload. A part that is there already changes nothing",
    {
      parameters: [
        queryParameter("parents", "Make missing directories", { type: "boolean", default: false }),
        { name: "Upload-Offset", in: "header", required: true, description, schema: { type: "integer", minimum: 0 } },
        headerParameter("Upload-Length", "Bytes of the whole file; more than an upload may have is refused at once"),
        headerParameter("Venue-Approval", "Id of an approval, where the root asks a person"),
      ],
      requestBody: { required: true, content: BINARY },
      responses: answers(
        {
          201: { description: "There is a new file", headers: { "Upload-Offset": offset } },
          204: { description: "The part is there", headers: { "Upload-Offset": offset } },
        },
        ...([404, 409, 412, 413, 504, 507] as const),
      ),
    },
  );
}
