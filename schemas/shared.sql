-- Tables of the state that the instances of one venue share: applied by `venue-files cluster init`, never by `serve`.
-- The search path is the schema of the venue. Every statement may run again.

-- The venue, and the number of the last change of revocations, tokens or links. Changes take it first, so they become visible in order.
CREATE TABLE IF NOT EXISTS epoch (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  n bigint NOT NULL DEFAULT 1,
  did text NOT NULL,
  format int NOT NULL
);

CREATE OR REPLACE FUNCTION next_epoch() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  changed bigint;
BEGIN
  -- An answer that something is revoked must not come before it is on disk.
  SET LOCAL synchronous_commit = on;
  UPDATE epoch SET n = n + 1 RETURNING n INTO changed;
  PERFORM pg_notify('venue_files ' || current_schema(), '0 epoch ');
  RETURN changed;
END $$;

CREATE TABLE IF NOT EXISTS instance (
  number int PRIMARY KEY CHECK (number BETWEEN 1 AND 65535),
  boot text NOT NULL,
  advertise text,
  name text NOT NULL,
  version text NOT NULL,
  digest jsonb NOT NULL,
  beat timestamptz NOT NULL,
  -- Since when it beats without a pause.
  since timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- By the instance's own clock, at the beat.
  clock timestamptz NOT NULL,
  seen bigint NOT NULL DEFAULT 0,
  stopped boolean NOT NULL DEFAULT false
);

-- Heard of within 10 s. Where all that are heard have just come back, the engine was away: others have 3 s to come back, too.
CREATE OR REPLACE FUNCTION is_live(one instance) RETURNS boolean LANGUAGE sql AS $$
  SELECT NOT one.stopped AND (one.beat > clock_timestamp() - interval '10 seconds' OR coalesce((
    SELECT min(since) > clock_timestamp() - interval '3 seconds' FROM instance
    WHERE NOT stopped AND beat > clock_timestamp() - interval '10 seconds'), false))
$$;

-- Revoked token ids and DIDs.
CREATE TABLE IF NOT EXISTS revocation (
  entry text PRIMARY KEY,
  n bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS revocation_n ON revocation (n);

-- Access tokens and sessions ('token'), links ('link') and what was signed ('ucan'), by hashes of their secrets; sealed.
CREATE TABLE IF NOT EXISTS access (
  kind text NOT NULL,
  id text NOT NULL,
  sha256 text,
  sealed bytea NOT NULL,
  expires timestamptz NOT NULL,
  n bigint NOT NULL,
  PRIMARY KEY (kind, id)
);
CREATE INDEX IF NOT EXISTS access_n ON access (n);
CREATE UNIQUE INDEX IF NOT EXISTS access_sha256 ON access (kind, sha256);

-- Access tokens that were ended before their time.
CREATE TABLE IF NOT EXISTS ended (
  id text PRIMARY KEY,
  at timestamptz NOT NULL,
  keep boolean NOT NULL,
  n bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS ended_n ON ended (n);

-- Jobs whose ids were told while they ran. 'lost': their instance went before they ended. `owners` are MACs of those who find them in lists.
CREATE TABLE IF NOT EXISTS job (
  id text PRIMARY KEY,
  instance int NOT NULL,
  state text NOT NULL CHECK (state IN ('open', 'ended', 'lost')),
  owners text[] NOT NULL,
  sealed bytea NOT NULL,
  updated timestamptz NOT NULL DEFAULT now(),
  ttl interval NOT NULL,
  expires timestamptz
);
CREATE INDEX IF NOT EXISTS job_open ON job (instance) WHERE state = 'open';
CREATE INDEX IF NOT EXISTS job_owners ON job USING gin (owners);
CREATE INDEX IF NOT EXISTS job_expires ON job (expires);

-- Last uses of access tokens, and marks of static ones.
CREATE TABLE IF NOT EXISTS used (
  id text PRIMARY KEY,
  at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS used_at ON used (at);

-- Calls with an operationId, by a hash of caller and id; the sealed end, empty while the call of `claim` runs.
CREATE TABLE IF NOT EXISTS repeat (
  key text PRIMARY KEY,
  digest text NOT NULL,
  owner int NOT NULL,
  claim text NOT NULL,
  sealed bytea,
  until timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS repeat_until ON repeat (until);

-- Tickets for one transfer each; sealed: whose they are, and what the venue judges at each use.
CREATE TABLE IF NOT EXISTS ticket (
  id text PRIMARY KEY,
  sealed bytea NOT NULL,
  expires timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS ticket_expires ON ticket (expires);

-- Requests to a person, sealed with what was decided. 'used' also while a call of `owner` holds one; `v` counts changes,
-- `answered` are MACs of questions whose answers were taken.
CREATE TABLE IF NOT EXISTS approval (
  id text PRIMARY KEY,
  caller text NOT NULL,
  state text NOT NULL CHECK (state IN ('pending', 'once', 'denied', 'used')),
  sealed bytea NOT NULL,
  owner int,
  v int NOT NULL DEFAULT 1,
  answered text[] NOT NULL DEFAULT '{}',
  until timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS approval_until ON approval (until);

-- Locks of WebDAV clients, sealed; MACs of their trees and holders.
CREATE TABLE IF NOT EXISTS dav_lock (
  id text PRIMARY KEY,
  tree text NOT NULL,
  caller text NOT NULL,
  sealed bytea NOT NULL,
  since timestamptz NOT NULL DEFAULT now(),
  expires timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS dav_lock_tree ON dav_lock (tree);

-- What WebDAV clients store beside a resource, sealed; `above` are MACs of its place and of those above it, upwards.
CREATE TABLE IF NOT EXISTS dav_property (
  id text PRIMARY KEY,
  above text[] NOT NULL,
  sealed bytea NOT NULL
);
CREATE INDEX IF NOT EXISTS dav_property_member ON dav_property ((above[2]));
CREATE INDEX IF NOT EXISTS dav_property_above ON dav_property USING gin (above);
