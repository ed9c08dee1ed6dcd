// Types of the configuration from schemas/config.json: as users write it, and as it is once it is checked and complete.

const NAMES = { venue: "Venue", file: "File", profile: "Profile", root: "Root" };

/** A key with a default is always there once the configuration is checked. */
const FORMS = {
  Input: { isThere: (schema, key) => (schema.required ?? []).includes(key) },
  Checked: {
    isThere: (schema, key) => (schema.required ?? []).includes(key) || schema.properties[key].default !== undefined,
  },
};

/** @returns the text of the types */
export function configTypes({ $defs }) {
  const nameOf = (def, form) => `${NAMES[def]}Config${form}`;

  function typeOf(schema, form, indent) {
    if (schema.$ref !== undefined) {
      const def = schema.$ref.replace("#/$defs/", "");
      return form === "Input" && def in NAMES ? nameOf(def, form) : typeOf($defs[def], form, indent);
    }
    if ("const" in schema) return JSON.stringify(schema.const);
    if (schema.enum !== undefined) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
    if (schema.anyOf !== undefined) return schema.anyOf.map((one) => typeOf(one, form, indent)).join(" | ");
    switch (schema.type) {
      case "object":
        return objectOf(schema, form, indent);
      case "array": {
        const item = typeOf(schema.items, form, indent);
        return `readonly ${item.includes(" | ") && !item.startsWith("{") ? `(${item})` : item}[]`;
      }
      case "integer":
        return "number";
      default:
        return schema.type;
    }
  }

  function objectOf(schema, form, indent, keys = Object.keys(schema.properties ?? {})) {
    if (schema.properties === undefined)
      return `Readonly<Record<string, ${typeOf(schema.additionalProperties, form, indent)}>>`;
    const lines = keys.map((key) => {
      const property = schema.properties[key];
      const mark = FORMS[form].isThere(schema, key) ? "" : "?";
      // The first sentence: docs/configuration.md has the rest. Readers of the checked form read the code.
      const [about = ""] = form === "Checked" ? [] : (property.description ?? "").split(/(?<=[a-z)'`]\.) /);
      return `${about && `${indent}  /** ${about} */\n`}${indent}  readonly ${key}${mark}: ${typeOf(property, form, `${indent}  `)};\n`;
    });
    return `{\n${lines.join("")}${indent}}`;
  }

  /** One type for each key of which an object has exactly one, without the keys that it cannot have beside it. */
  function alternativesOf({ oneOf, not, dependentRequired, ...schema }, form) {
    const chosen = oneOf.map(({ required }) => required[0]);
    return chosen.map((own) => {
      const refused = not.anyOf.flatMap(({ required }) => (required[0] === own ? [required[1]] : []));
      const others = Object.entries(dependentRequired).flatMap(([key, [with_]]) => (with_ === own ? [] : [key]));
      const keys = Object.keys(schema.properties).filter(
        (key) => key === own || ![...chosen, ...refused, ...others].includes(key),
      );
      return objectOf({ ...schema, required: [own] }, form, "", keys);
    });
  }

  const { $schema: _, file, ...venue } = $defs.venue.properties;
  const [host, temp, drive] = alternativesOf($defs.root, "Input");
  return [
    `/** Configuration of a venue, as written by an embedder or in a file; every key has a default. */\nexport interface VenueConfigInput ${objectOf({ properties: { ...venue, file } }, "Input", "")}`,
    `/** Configuration of the file adapter, as written by an embedder; every key has a default. */\nexport interface FileConfigInput ${objectOf($defs.file, "Input", "")}`,
    `/** A profile, as written in a config. */\nexport interface ProfileConfigInput ${objectOf($defs.profile, "Input", "")}`,
    `/** A host directory, as written in a config. */\nexport interface HostRootInput ${host}`,
    `/** A temp root, as written in a config. */\nexport interface TempRootInput ${temp}`,
    `/** A drive root (each caller has its own drive), as written in a config. */\nexport interface DriveRootInput ${drive}`,
    "export type RootConfigInput = HostRootInput | TempRootInput | DriveRootInput;",
    `/** Configuration of a venue, checked and complete, but for its roots. */\nexport interface VenueConfigChecked ${objectOf({ properties: venue }, "Checked", "")}`,
  ].join("\n\n");
}
