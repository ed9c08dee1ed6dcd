/** Help of backups. */
export const BACKUP_TOPICS = {
  "backup create": `venue-files backup create FILE --config FILE [--drives] [--roots NAME]…
                          (--passphrase FILE | --plaintext)

Writes keys, access tokens, revocations and journal of a venue into one new file, mode 0600, each as of one moment; the
venue may be serving. Encrypted it can be read only with the passphrase; without, it is a tar archive.

  --config FILE           whose state it is
  --drives                drives on this machine too; those in a bucket have its versioning
  --roots NAME            all that is in this root too, what is denied as well; may be repeated. Links and names that
                          are not UTF-8 are left out, and named on standard error
  --passphrase FILE       encrypts it: 12 characters or more, the first line of a file; env:NAME too
  --plaintext             does not, although it holds keys

Example: venue-files backup create venue.backup --drives --passphrase env:PASSPHRASE --config venue.json5

Exit status: 0 done, 64 usage, 66 a file that cannot be read or written, 78 FILE is there already, or the drives
are in a bucket
`,
  "backup restore": `venue-files backup restore [FILE] --config FILE [--passphrase FILE]
                           [--revocations FILE | --accept-old-tokens]

Puts a backup where the configuration says, which must be empty. All of it is verified first; then all of it is there,
or nothing. Tokens that were issued up to the moment of the backup are refused, since some may have been revoked after
it, until you decide, then or later without FILE:

  --config FILE           the venue; its stateDir, seedFile and so on are where it goes
  --passphrase FILE       that of the backup; env:NAME too
  --revocations FILE      a newer revocation list: what it names stays revoked, all other tokens are accepted
  --accept-old-tokens     accept them as the backup has them

Example: venue-files backup restore venue.backup --passphrase env:PASSPHRASE --config venue.json5

Exit status: 0 done, 64 usage, 66 file not readable, 78 the place is not empty, or FILE is damaged or another's
`,
} as const;
