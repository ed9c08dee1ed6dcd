// Approvals of all instances: a sealed row each, whose state goes forward by the rows' own compare-and-set.

import type { Shared } from "../../../core/ports/shared.js";
import { stringifyExact } from "../../../schema/exact-json.js";
import type { Approval } from "../../approvals/approvals.js";

const TABLE = "approval";

/** Notice to other instances, sent with the change. */
const TELL = `pg_notify('venue_files ' || current_schema(), $1::text || ' ${TABLE} ')`;

/** Rows that nobody looks at any more go a few at a time. */
const PUT = `WITH expired AS (
    DELETE FROM approval WHERE id IN (SELECT id FROM approval WHERE until < now() - interval '10 minutes' ORDER BY until LIMIT 20)
  )
  INSERT INTO approval (id, caller, state, sealed, until) VALUES ($2, $3, 'pending', $4, to_timestamp($5::float8 / 1000))
  RETURNING ${TELL}`;

const DECIDE = `UPDATE approval SET state = $3, sealed = $4, until = to_timestamp($5::float8 / 1000), v = v + 1
  WHERE id = $2 AND state = 'pending' AND until > now() RETURNING v, ${TELL}`;

/** The caller is part of the condition: nobody else can hold up an approval by bringing its id. */
const CLAIM = `UPDATE approval SET state = 'used', owner = $3, v = v + 1
  WHERE id = $1 AND caller = $2 AND state = 'once' AND until > now() RETURNING v`;

const RELEASE = `UPDATE approval SET state = 'once', v = v + 1
  WHERE id = $2 AND owner = $3 AND v = $4 AND state = 'used' RETURNING v, ${TELL}`;

const ANSWER = `UPDATE approval SET answered = array_append(answered, $2)
  WHERE id = $1 AND state = 'pending' AND NOT $2 = ANY (answered) RETURNING v`;

/** Rows that are known as they are come without their content. */
const READ = `SELECT id, state, v, CASE WHEN known.value IS DISTINCT FROM v::text THEN sealed END AS sealed
  FROM approval LEFT JOIN jsonb_each_text($1::jsonb) AS known ON key = id WHERE until > now() - interval '10 minutes'`;

interface Row {
  readonly id: string;
  readonly state: Approval["state"];
  readonly v: number;
  readonly sealed: Uint8Array | null;
}

/** An approval as it stands in its row; without `approval` it is known by its version. */
export interface KeptApproval {
  readonly id: string;
  readonly v: number;
  readonly approval: Approval | undefined;
}

export type ApprovalRows = ReturnType<typeof createApprovalRows>;

export function createApprovalRows(shared: Shared) {
  const seal = shared.sealed(TABLE);
  const hashOf = shared.mac(TABLE);
  const sealed = (approval: Approval) => seal.seal(approval.id, Buffer.from(stringifyExact(approval)));
  const versionOf = async (text: string, values: readonly unknown[]) =>
    (await shared.query<{ v: number }>(text, values))[0]?.v;
  const read = ({ id, state, v, sealed: bytes }: Row): KeptApproval | undefined => {
    if (bytes === null) return { id, v, approval: undefined };
    const text = seal.open(id, bytes)?.toString();
    // A row that this venue did not seal for its place allows nobody anything.
    if (text === undefined) return undefined;
    const approval: Approval = JSON.parse(text);
    // The seal says what was decided; the column can only take it back.
    return { id, v, approval: state === "used" ? { ...approval, state } : approval };
  };
  return {
    /** Puts one that was asked for; its version is 1. */
    async put(approval: Approval): Promise<void> {
      const { id, caller, expires } = approval;
      await shared.query(PUT, [String(shared.self.number), id, hashOf(caller), sealed(approval), expires]);
    },
    /** @param approval as it is to be @returns its version; `undefined`: somebody has decided, or it has expired */
    decide: (approval: Approval) => {
      const { id, state, expires } = approval;
      return versionOf(DECIDE, [String(shared.self.number), id, state, sealed(approval), expires]);
    },
    /** Takes one that was allowed, as used. @returns its version; `undefined`: it is not to be had */
    claim: (id: string, caller: string) => versionOf(CLAIM, [id, hashOf(caller), shared.self.number]),
    /** Gives back what was claimed in a version and not used. @returns its version */
    release: (id: string, v: number) => versionOf(RELEASE, [String(shared.self.number), id, shared.self.number, v]),
    /** Tells others that what was claimed is used. */
    used: () => shared.notify(TABLE, ""),
    /** Marks the answer to a question about one that waits. @returns whether it is the first */
    answer: async (id: string, token: string) => (await versionOf(ANSWER, [id, hashOf(token)])) !== undefined,
    /** All that there are. @param known versions by id */
    read: async (known: ReadonlyMap<string, number>): Promise<readonly KeptApproval[]> =>
      (await shared.query<Row>(READ, [Object.fromEntries(known)])).flatMap((row) => read(row) ?? []),
    /** Calls back when others may have changed something. */
    onChange(look: () => void): void {
      shared.hear(TABLE, (_, from) => {
        if (from !== shared.self.number) look();
      });
      shared.on("gap", look);
    },
  };
}
