// Makes the golden tokens next to it: `node test/vectors/ucan/make.mjs`, or with `--print` on stdout. Ed25519 signatures are
// the same each time.
import { writeFileSync } from "node:fs";
import { keys, NOW, VENUE_DID } from "./forms.mjs";
import { identities } from "./identities.mjs";
import { invalidChains } from "./invalid.mjs";
import { validChains } from "./valid.mjs";

const withDefaults = (cases) =>
  cases.map(({ name, owner: root = keys.owner.did, rules = {}, tokens, grants = [], chain = [], reasons = [] }) => {
    return { name, owner: root, rules, tokens, grants, chain, reasons };
  });

const vectors = {
  about: "Made by make.mjs. Times are seconds. The first token of 'tokens' is judged, with 'owner' at the root.",
  now: NOW,
  venue: { did: VENUE_DID, keyDid: keys.venue.did },
  keys: Object.fromEntries(
    Object.entries(keys).map(([name, { seed, did }]) => [name, { seed: seed.toString("hex"), did }]),
  ),
  valid: withDefaults(await validChains()),
  invalid: withDefaults(invalidChains()),
  identities: identities(),
};

const text = `${JSON.stringify(vectors, undefined, 2)}\n`;
if (process.argv.includes("--print")) process.stdout.write(text);
else writeFileSync(new URL("tokens.json", import.meta.url), text);
