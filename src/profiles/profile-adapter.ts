// Offers the tools of a profile as operations of a venue.

import { unknownOperation } from "../core/errors/texts.js";
import type { Adapter, JsonObject, OperationMetadata } from "../core/ports/adapter.js";
import type { ProfileInstance } from "./create-profile.js";
import type { ProfileTool } from "./profile.js";

/**
 * Exposes the tools of a profile as operations named `<name>:<tool>`. Failures are outputs, recognised by
 * `errorCodeOf`.
 */
export function profileAdapter(name: string, instance: ProfileInstance): Adapter {
  const prefix = `${name}:`;
  return {
    name,
    description: instance.profile.description,
    instructions: instance.profile.instructions,
    operations: [...instance.known.values()].map((tool) => describe(name, tool, instance)),
    async invoke(operation, input, context) {
      if (!operation.startsWith(prefix)) throw unknownOperation(operation);
      return instance.call(operation.slice(prefix.length), input, context);
    },
    async close() {},
  };
}

function describe(name: string, tool: ProfileTool, instance: ProfileInstance): OperationMetadata {
  const { title, description, ability, changes, annotations, input, output, hidden = [] } = tool;
  const { hiddenOutput, unavailable, render } = tool;
  return {
    // Two instances of one profile may be offered side by side, so the instance name is part of the tool name.
    ...{ name: `${name}:${tool.name}`, toolName: `${name}_${tool.name}` },
    ...{ title, description, ability, changes, annotations, input, hidden },
    output: allowFailure(output),
    ...(hiddenOutput === undefined ? {} : { hiddenOutput }),
    ...(unavailable === undefined ? {} : { unavailable }),
    ...(render === undefined ? {} : { render: render.bind(tool) }),
    isVerbatim: true,
    renderError: (value) => instance.renderError(value),
  };
}

/** Result schema of a tool, extended by the `error` that replaces a result. */
function allowFailure({ properties }: JsonObject): JsonObject {
  const fields = typeof properties === "object" ? properties : {};
  return { type: "object", properties: { ...fields, error: { type: "string" } } };
}
