import { expect, test } from "@jest/globals";
import { gives, lead, owner } from "../chains.js";
import { verifierBy } from "../verify/judge.js";

const token = (claims: object): string => gives(owner, lead, {}, { claims: { att: undefined, ...claims } });
const grant = { with: "file://docs/", can: "crud/read" };
const map = { "file://docs/": { "crud/read": [{}] } };

test.each<[string, string, boolean]>([
  ["a list of capabilities", token({ att: [grant] }), true],
  ["a list that grants nothing we know", token({ att: [{ with: "my:", can: "*" }] }), true],
  ["a map of capabilities", token({ cap: map }), true],
  ["an empty list", token({ att: [] }), false],
  ["an empty map", token({ cap: {} }), false],
  ["no list: it says who somebody is", token({}), false],
  ["an empty list and no version", token({ att: [], ucv: undefined }), false],
  ["a list and no version", token({ att: [grant], ucv: undefined }), true],
  ["a list too long to be taken", token({ att: Array(33).fill(grant) }), true],
  ["both kinds, which no token may have", token({ att: [], cap: {} }), true],
  ["nothing that can be read", "nonsense", true],
  ["an empty text", "", true],
])("a token with %s", (_what, text, carries) => {
  expect(verifierBy().read([text])[0]?.carriesCapabilities).toBe(carries);
});
