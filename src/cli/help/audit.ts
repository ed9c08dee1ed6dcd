// Help on `audit verify`.

export const AUDIT_VERIFY = `venue-files audit verify FILE… [--did DID] [--config FILE] [--json]

Reads the files of 'audit.file', rotated ones too, and says of each chain (one for every process that wrote) from where
to where it is intact, or which line is the first that was changed, removed, moved or added. Files are never altered.

  --did DID               the did:key of the venue, which must have signed; without it, see who signed
  --config FILE           in place of FILE…: its 'audit.file' with all rotated ones; also its 'stateDir', which knows
                          how far each chain went, so that a cut at the end shows,
                          and its key, which must have signed where --did names no other
  --json                  the whole report as JSON

Example: venue-files audit verify audit.jsonl* --did did:key:z6Mk…

Exit status: 0 intact, 1 not intact, 64 usage, 66 file not readable, 78 a configuration that cannot be used
`;
