import { expect, test } from "@jest/globals";
import { carriesCapabilities } from "../../src/ucan/capability-list.js";
import { encode } from "./tokens.js";

const SIGNATURE = Buffer.alloc(64, 1).toString("base64url");
const token = (claims: object): string =>
  `${encode({ alg: "EdDSA", typ: "JWT" })}.${encode({ iss: "did:key:z6MkA", aud: "did:key:z6MkB", exp: 1, ...claims })}.${SIGNATURE}`;
const grant = { with: "file://docs/", can: "crud/read" };

test.each<[string, string, boolean]>([
  ["a list of capabilities", token({ att: [grant] }), true],
  ["a list that grants nothing we know", token({ att: [{ with: "my:", can: "*" }] }), true],
  ["a map of capabilities", token({ cap: { "file://docs/": { "crud/read": [{}] } } }), true],
  ["an empty list", token({ att: [] }), false],
  ["an empty map", token({ cap: {} }), false],
  ["no list: it says who somebody is", token({}), false],
  ["both kinds, which no token may have", token({ att: [], cap: {} }), true],
  ["nothing that can be read", "nonsense", true],
  ["an empty text", "", true],
])("a token with %s", (_what, text, carries) => {
  expect(carriesCapabilities(text)).toBe(carries);
});
