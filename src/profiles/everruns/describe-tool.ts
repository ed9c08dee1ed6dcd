// Descriptions of the Everruns tools, loaded from their schemas.

import type { JsonObject } from "../../core/ports/adapter.js";
import { isObject } from "../../core/unknown.js";
import { loadOperationSchema } from "../../schema/load.js";
import type { ProfileTool } from "../profile.js";
import type { SessionPaths } from "./session-path.js";

type Description = Pick<ProfileTool, "name" | "title" | "description" | "input" | "output">;

/**
 * Name, texts and schemas of a tool, with paths as the instance shows them.
 * @param folder of its schema
 */
export function describeTool(name: string, paths: SessionPaths, folder = "everruns"): Description {
  const { title, description, input, output } = loadOperationSchema(name, `profiles/${folder}`);
  const shown = (text: string): string =>
    text.replaceAll("/workspace/", `${paths.prefix}/`).replaceAll("/workspace", paths.prefix || "/");
  return { name, title, description: shown(description), input: withTexts(input, shown), output };
}

/** Rewrites all descriptions in a schema with `shown`. */
function withTexts(schema: JsonObject, shown: (text: string) => string): JsonObject {
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (key === "description" && typeof value === "string") return [key, shown(value)];
      return [key, isObject(value) ? withTexts(value, shown) : value];
    }),
  );
}
