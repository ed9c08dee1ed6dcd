// Endpoints for the value tree, which describes what the venue offers.

import type { JsonObject } from "../../../core/ports/adapter.js";
import { countValue, listValue, readValue, sliceValue } from "../../../core/value-tree.js";
import { COUNT, type Endpoint, endpointsOf, json, type Parameter, queryParameter } from "../openapi/endpoint.js";
import { sendJson } from "../plumbing/answer.js";
import { badRequest } from "../plumbing/http-error.js";
import { PAGE_PARAMETERS, parsePage, singleParameter } from "../plumbing/query.js";

const endpoint = endpointsOf("Values");
const PATH: Parameter = { ...queryParameter("path", "Keys with `/` between them; `/` is the whole"), required: true };
const MAX_SIZE = queryParameter("maxSize", "Most bytes of the value; a larger one is left out", COUNT);

type Look = (values: JsonObject, path: string, query: unknown) => object;

const read: Look = (values, path, query) => readValue(values, path, maxSizeOf(query));
const list: Look = (values, path, query) => {
  const found = listValue(values, path, parsePage(query));
  return found.exists ? found : { ...found, type: "null" };
};
const slice: Look = (values, path, query) => sliceValue(values, path, parsePage(query));

export const VALUE_ENDPOINTS: readonly Endpoint[] = [
  lookAt("Read", "Read the value at a path", [PATH, MAX_SIZE], read),
  lookAt("List", "List the keys of the value at a path", [PATH, ...PAGE_PARAMETERS], list),
  lookAt("Slice", "Read parts of the value at a path", [PATH, ...PAGE_PARAMETERS], slice),
  lookAt("Count", "Count the parts of the value at a path", [PATH], countValue),
];

function lookAt(name: string, summary: string, parameters: readonly Parameter[], look: Look): Endpoint {
  const handle: Endpoint["handle"] = (host, { request: { query }, reply }) => {
    const values = host.values();
    return sendJson(reply, 200, JSON.stringify(look(values, singleParameter(query, PATH) ?? "", query)));
  };
  return endpoint(`GET /api/v1/values/${name.toLowerCase()}`, handle, {
    operationId: `${name.toLowerCase()}Values`,
    summary,
    description: "A path where nothing is answers `exists: false`.",
    parameters,
    answers: { 200: json("The answer", `Value${name}`) },
  });
}

function maxSizeOf(query: unknown): number | undefined {
  const text = singleParameter(query, MAX_SIZE);
  if (text !== undefined && !/^(?:0|[1-9]\d{0,15})$/.test(text))
    throw badRequest("'maxSize' must be an integer, 0 or more");
  return text === undefined ? undefined : Number(text);
}
