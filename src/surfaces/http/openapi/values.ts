// OpenAPI for the value tree.

import type { JsonObject } from "../../../core/ports/adapter.js";
import {
  answers,
  endpointsOf,
  jsonAnswer,
  type OpenApiPart,
  object,
  PAGE_PARAMETERS,
  queryParameter,
  schemaRef,
} from "./parts.js";

const endpoint = endpointsOf("Values");
const PATH = {
  ...queryParameter("path", "Keys with `/` between them; `/` is the whole", { type: "string" }),
  required: true,
};
const ABSENT = object({ exists: { const: false } });
const PRESENT = { exists: { const: true } };
const type = {
  type: "string",
  enum: ["Map", "Vector", "String", "Long", "Double", "Boolean", "Null"],
};
const count = { type: "integer", minimum: 0 };

/** OpenAPI for the value tree, which describes what the venue offers. */
export function valuesPart(): OpenApiPart {
  const maxSize = queryParameter("maxSize", "Most bytes of the value; a larger one is left out", count);
  return {
    paths: {
      ...path("read", "Read the value at a path", [PATH, maxSize]),
      ...path("list", "List the keys of the value at a path", [PATH, ...PAGE_PARAMETERS]),
      ...path("slice", "Read parts of the value at a path", [PATH, ...PAGE_PARAMETERS]),
      ...path("count", "Count the parts of the value at a path", [PATH]),
    },
    schemas: {
      ValueRead: {
        oneOf: [
          ABSENT,
          object({ ...PRESENT, value: {}, type, valueBytes: count }),
          object({ ...PRESENT, truncated: { const: true }, type, valueBytes: count }),
        ],
      },
      ValueList: {
        oneOf: [
          ABSENT,
          object({ ...PRESENT, type, count, offset: count, keys: { type: "array", items: { type: "string" } } }, [
            "keys",
          ]),
        ],
      },
      ValueSlice: {
        oneOf: [ABSENT, object({ ...PRESENT, type, values: { type: "array", items: {} }, count, offset: count })],
      },
      ValueCount: { oneOf: [ABSENT, object({ ...PRESENT, count })] },
    },
  };
}

function path(name: string, summary: string, parameters: readonly JsonObject[]): JsonObject {
  const capital = name.charAt(0).toUpperCase() + name.slice(1);
  return {
    [`/api/v1/values/${name}`]: {
      get: endpoint(`${name}Values`, summary, {
        description: "A path where nothing is answers `exists: false`.",
        parameters,
        responses: answers({ 200: jsonAnswer("The answer", schemaRef(`Value${capital}`)) }),
      }),
    },
  };
}
