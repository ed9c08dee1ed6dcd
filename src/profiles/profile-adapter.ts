import { unknownOperation } from "../core/errors/texts.js";
import type { Adapter, JsonObject, OperationMetadata } from "../core/ports/adapter.js";
import type { ProfileInstance } from "./create-profile.js";
import type { ProfileTool } from "./profile.js";

/** The tools of a profile as operations, `<name>:<tool>`. Their failures are outputs, of which `errorCodeOf` tells. */
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
    // Two instances of a profile may be offered side by side.
    ...{ name: `${name}:${tool.name}`, toolName: `${name}_${tool.name}` },
    ...{ title, description, ability, changes, annotations, input, hidden },
    output: orFailure(output),
    ...(hiddenOutput === undefined ? {} : { hiddenOutput }),
    ...(unavailable === undefined ? {} : { unavailable }),
    ...(render === undefined ? {} : { render: render.bind(tool) }),
    renderError: (value) => instance.renderError(value),
  };
}

/** The schema of a result, or of what stands in its place. */
function orFailure({ properties }: JsonObject): JsonObject {
  const fields = typeof properties === "object" ? properties : {};
  return { type: "object", properties: { ...fields, error: { type: "string" } } };
}
