import { expect, test } from "@jest/globals";
import { createIssuedTokens } from "../../../../src/venue/operations/tokens/issued-tokens.js";

test("of the tokens that were issued the last are remembered", () => {
  const issued = createIssuedTokens(2);
  for (const id of ["a", "b", "c"]) issued.remember(id, [`for ${id}`]);
  expect(["a", "b", "c"].map((id) => issued.namesOf(id))).toEqual([undefined, ["for b"], ["for c"]]);
});
