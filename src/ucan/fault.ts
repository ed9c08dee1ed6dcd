/** What is wrong with a token; a part of the reasons that a denial may give. */
export type TokenFault =
  | "too_large"
  | "malformed"
  | "bad_header"
  | "bad_did"
  | "kid_mismatch"
  | "bad_signature"
  | "bad_exp"
  | "no_exp"
  | "bad_nbf"
  | "expired"
  | "not_yet_valid"
  | "wrong_audience";
