import { Ajv2020 } from "ajv/dist/2020.js";

type Json = Readonly<Record<string, unknown>>;

/** Where the document would be, for references into it. */
const BASE = "https://document.test/";

/** A document, and what it says of an answer. */
export interface OpenApiChecker {
  /** `GET /path 200` of every answer that is described. */
  readonly described: readonly string[];
  /** What is wrong with an answer, if anything; `path` as it stands in the document. */
  faultsOf(method: string, path: string, response: Response): Promise<string[]>;
  /** What is wrong with the JSON of a request. */
  requestFaults(method: string, path: string, body: unknown): string[];
}

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null;

/** The member of an object at a path of keys, following references within the document. */
function at(document: Json, value: unknown, ...keys: readonly string[]): unknown {
  let here = value;
  for (const key of keys) {
    here = isObject(here) ? resolve(document, here[key]) : undefined;
  }
  return here;
}

function resolve(document: Json, value: unknown): unknown {
  const reference = isObject(value) ? value["$ref"] : undefined;
  if (typeof reference !== "string" || !reference.startsWith("#/")) return value;
  const keys = reference.slice(2).split("/");
  return at(document, document, ...keys.map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~")));
}

/** Reads a document as a client would. */
export function checkerOf(document: Json): OpenApiChecker {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  ajv.addSchema({ $id: BASE, ...document });
  /** Schemas are taken out of the document, and refer back into it. */
  const check = (schema: unknown, value: unknown): string[] => {
    const text = JSON.stringify(schema).replaceAll('"$ref":"#/', `"$ref":"${BASE}#/`);
    const validate = ajv.compile(JSON.parse(text));
    return validate(value)
      ? []
      : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  };
  const operation = (method: string, path: string): unknown =>
    at(document, document["paths"], path, method.toLowerCase());
  return {
    described: describedIn(document),
    requestFaults: (method, path, body) =>
      check(at(document, operation(method, path), "requestBody", "content", "application/json", "schema"), body),
    faultsOf: async (method, path, response) => {
      const answer = at(document, operation(method, path), "responses", String(response.status));
      if (!isObject(answer)) return [`${response.status} is not described`];
      const missing = headersOf(answer).filter((name) => !response.headers.has(name));
      const faults = missing.map((name) => `no header ${name}`);
      return [...faults, ...(await bodyFaults(answer, response, check))];
    },
  };
}

function headersOf(answer: Json): string[] {
  return isObject(answer["headers"]) ? Object.keys(answer["headers"]) : [];
}

async function bodyFaults(
  answer: Json,
  response: Response,
  check: (schema: unknown, value: unknown) => string[],
): Promise<string[]> {
  const text = await response.text();
  const content = answer["content"];
  if (!isObject(content)) return text === "" ? [] : [`a body where none is described: ${text}`];
  const type = (response.headers.get("content-type") ?? "").replace(/;.*$/, "");
  const media = content[type] ?? content["*/*"];
  if (!isObject(media)) return [`the type ${type} is not described`];
  return check(media["schema"], /json$/.test(type) && content[type] !== undefined ? JSON.parse(text) : text);
}

function describedIn(document: Json): string[] {
  const { paths } = document;
  if (!isObject(paths)) return [];
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(isObject(item) ? item : {})
      .filter(([method]) => ["get", "put", "post", "delete"].includes(method))
      .flatMap(([method, operation]) => {
        const responses = isObject(operation) ? operation["responses"] : {};
        return Object.keys(isObject(responses) ? responses : {}).map(
          (status) => `${method.toUpperCase()} ${path} ${status}`,
        );
      }),
  );
}
