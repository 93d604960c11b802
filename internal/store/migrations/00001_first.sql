-- The first tables. One text for SQLite and PostgreSQL: TEXT, BIGINT (milliseconds, counts) and BYTEA
-- only. Every column says what it is for; every text and every blob has a longest length. No column
-- can hold the text of a page.

-- +goose Up

CREATE TABLE accounts (
  id              TEXT NOT NULL PRIMARY KEY CHECK (length(id) <= 40), -- acc_ and random characters
  name            TEXT NOT NULL CHECK (length(name) <= 200), -- what the operator or customer calls it
  status          TEXT NOT NULL CHECK (length(status) <= 10 AND status IN ('active', 'suspended', 'closed')), -- may it be used
  status_reason   TEXT NOT NULL CHECK (length(status_reason) <= 500), -- why it is suspended, in the operator's words
  plan            TEXT NOT NULL CHECK (length(plan) <= 40), -- the plan's name in plans.yaml
  spending_cap    BIGINT CHECK (spending_cap >= 0), -- units a month at most, set by the customer; null is none
  webhook_url     TEXT NOT NULL CHECK (length(webhook_url) <= 2048), -- where the account's own events go; empty is nowhere
  webhook_secret  TEXT NOT NULL CHECK (length(webhook_secret) <= 80), -- whsec_ and a secret that signs webhooks; empty once closed
  fingerprint_key BYTEA NOT NULL CHECK (length(fingerprint_key) <= 32), -- keys the account's page fingerprints; empty once closed
  created_at      BIGINT NOT NULL, -- when it was made
  suspended_at    BIGINT, -- when it was suspended
  closed_at       BIGINT -- when it was closed
);
CREATE UNIQUE INDEX accounts_name ON accounts (name) WHERE status <> 'closed';

CREATE TABLE api_keys (
  id           TEXT NOT NULL PRIMARY KEY CHECK (length(id) <= 40), -- key_ and random characters
  account      TEXT NOT NULL CHECK (length(account) <= 40) REFERENCES accounts (id), -- whose it is
  name         TEXT NOT NULL CHECK (length(name) <= 200), -- what the customer calls it
  hash         TEXT NOT NULL UNIQUE CHECK (length(hash) <= 64), -- SHA-256 of the secret, in hexadecimal
  public_key   BYTEA NOT NULL CHECK (length(public_key) <= 32), -- results are sealed to it; its private half is derived from the secret
  prefix       TEXT NOT NULL CHECK (length(prefix) <= 8), -- the secret's first characters, to tell keys apart
  last4        TEXT NOT NULL CHECK (length(last4) <= 4), -- the secret's last characters
  created_at   BIGINT NOT NULL, -- when it was made
  last_used_at BIGINT, -- when it was used last, to the hour
  ends_at      BIGINT, -- when it stops by itself; null is never
  revoked_at   BIGINT -- when it was revoked
);
CREATE INDEX api_keys_account ON api_keys (account);

CREATE TABLE usage_months (
  account TEXT NOT NULL CHECK (length(account) <= 40), -- whose usage
  month   TEXT NOT NULL CHECK (length(month) <= 7), -- calendar month, UTC: 2026-11
  held    BIGINT NOT NULL CHECK (held >= 0), -- units reserved by reads that run
  charged BIGINT NOT NULL CHECK (charged >= 0), -- units charged: the sum of the month's debits
  PRIMARY KEY (account, month)
);

CREATE TABLE holds (
  id         TEXT NOT NULL PRIMARY KEY CHECK (length(id) <= 40), -- the id of the read it is for
  receipt    TEXT NOT NULL CHECK (length(receipt) <= 40), -- the receipt's id, if it comes to a charge
  account    TEXT NOT NULL CHECK (length(account) <= 40), -- who pays
  api_key    TEXT NOT NULL CHECK (length(api_key) <= 40), -- the API key's id
  operation  TEXT NOT NULL CHECK (length(operation) <= 60), -- what is charged at most once
  job        TEXT NOT NULL CHECK (length(job) <= 40), -- the job's id, empty for a single read
  kind       TEXT NOT NULL CHECK (length(kind) <= 10), -- read, batch, crawl or watch
  units      BIGINT NOT NULL CHECK (units >= 0), -- reserved
  month      TEXT NOT NULL CHECK (length(month) <= 7), -- the month whose allowance it takes from
  held_at    BIGINT NOT NULL, -- when it was made
  expires_at BIGINT NOT NULL -- when it lapses; a later settlement is refused
);
CREATE INDEX holds_expiry ON holds (expires_at);
CREATE INDEX holds_account ON holds (account, expires_at);

CREATE TABLE reads (
  id         TEXT NOT NULL PRIMARY KEY CHECK (length(id) <= 40), -- the read's id
  account    TEXT NOT NULL CHECK (length(account) <= 40), -- who asked
  api_key    TEXT NOT NULL CHECK (length(api_key) <= 40), -- the API key's id
  operation  TEXT NOT NULL CHECK (length(operation) <= 60), -- what it is charged as
  job        TEXT NOT NULL CHECK (length(job) <= 40), -- the job's id, empty for a single read
  kind       TEXT NOT NULL CHECK (length(kind) <= 10), -- read, batch, crawl or watch
  outcome    TEXT NOT NULL CHECK (length(outcome) <= 10 AND outcome IN ('delivered', 'unchanged', 'blocked', 'refused', 'failed')), -- how it ended
  reason     TEXT NOT NULL CHECK (length(reason) <= 80), -- the error's code and reason, empty when delivered
  url_host   TEXT NOT NULL CHECK (length(url_host) <= 255), -- the host that was read, for the receipt; blanked on the site's request
  started_at BIGINT NOT NULL, -- when its hold was made
  ended_at   BIGINT NOT NULL, -- when it ended
  UNIQUE (id, account, operation, outcome)
);
CREATE INDEX reads_account ON reads (account, ended_at);
CREATE INDEX reads_host ON reads (url_host);

CREATE TABLE debits (
  account    TEXT NOT NULL CHECK (length(account) <= 40), -- who pays
  operation  TEXT NOT NULL CHECK (length(operation) <= 60), -- what is paid, once
  read_id    TEXT NOT NULL UNIQUE CHECK (length(read_id) <= 40), -- the delivered read that earned it
  outcome    TEXT NOT NULL DEFAULT 'delivered' CHECK (length(outcome) <= 10 AND outcome = 'delivered'), -- nothing else can be charged
  receipt    TEXT NOT NULL UNIQUE CHECK (length(receipt) <= 40), -- the receipt's id: rcp_…
  amount     BIGINT NOT NULL CHECK (amount >= 0), -- units
  month      TEXT NOT NULL CHECK (length(month) <= 7), -- the month whose allowance it took from
  debited_at BIGINT NOT NULL, -- when
  PRIMARY KEY (account, operation),
  FOREIGN KEY (read_id, account, operation, outcome) REFERENCES reads (id, account, operation, outcome)
);
CREATE INDEX debits_account ON debits (account, debited_at, receipt);

CREATE TABLE outbox (
  read_id     TEXT NOT NULL PRIMARY KEY CHECK (length(read_id) <= 40) REFERENCES debits (read_id), -- the debit it reports
  account     TEXT NOT NULL CHECK (length(account) <= 40), -- who pays
  units       BIGINT NOT NULL CHECK (units >= 0), -- the debit's amount
  debited_at  BIGINT NOT NULL, -- when it was debited
  batch       TEXT CHECK (length(batch) <= 60), -- the report it went out with; null is waiting
  reported_at BIGINT -- when that report was accepted
);
CREATE INDEX outbox_waiting ON outbox (account, debited_at) WHERE reported_at IS NULL;

CREATE TABLE idempotency (
  account       TEXT NOT NULL CHECK (length(account) <= 40), -- whose request
  key_hash      TEXT NOT NULL CHECK (length(key_hash) <= 64), -- SHA-256 of the Idempotency-Key, in hexadecimal
  request_hash  TEXT NOT NULL CHECK (length(request_hash) <= 64), -- SHA-256 of what makes two requests the same
  operation     TEXT NOT NULL CHECK (length(operation) <= 60), -- what every repeat is charged as
  object        TEXT NOT NULL CHECK (length(object) <= 60), -- the id of the job or watch that was made, else empty
  deliveries    BIGINT NOT NULL CHECK (deliveries >= 0), -- how often the page was delivered
  claim         TEXT NOT NULL CHECK (length(claim) <= 40), -- which attempt runs now; empty is none
  running_until BIGINT NOT NULL, -- when a running attempt counts as dead
  expires_at    BIGINT NOT NULL, -- when the key is forgotten
  PRIMARY KEY (account, key_hash)
);
CREATE INDEX idempotency_expiry ON idempotency (expires_at);

CREATE TABLE hosts (
  host         TEXT NOT NULL PRIMARY KEY CHECK (length(host) <= 300), -- the pace key: a host, a registrable domain or profile:NAME
  ready_at     BIGINT NOT NULL, -- next start allowed; while leased, the lease's end
  leased       BIGINT NOT NULL CHECK (leased IN (0, 1)), -- 1 while a request is in flight
  lease        BIGINT NOT NULL, -- fencing number: grows with every lease
  written_at   BIGINT NOT NULL, -- when the last request was written; 0 is never
  paused_until BIGINT NOT NULL, -- nothing is sent before: the site's Retry-After
  pending      BIGINT NOT NULL DEFAULT 0 CHECK (pending >= 0), -- queued URLs of jobs
  delay_ms     BIGINT NOT NULL DEFAULT 0 CHECK (delay_ms >= 0), -- gap the jobs at this host keep
  used_at      BIGINT NOT NULL -- when it was leased or paused last, for sweeping
);
CREATE INDEX hosts_ready ON hosts (ready_at) WHERE pending > 0;
CREATE INDEX hosts_used ON hosts (used_at);

CREATE TABLE robots (
  authority     TEXT NOT NULL PRIMARY KEY CHECK (length(authority) <= 300), -- scheme, host and port
  host          TEXT NOT NULL CHECK (length(host) <= 255), -- the host in it, for forgetting
  url           TEXT NOT NULL CHECK (length(url) <= 8192), -- where it was asked
  state         BIGINT NOT NULL CHECK (state IN (0, 1, 2)), -- unreachable, found, absent
  status        BIGINT NOT NULL, -- HTTP status, 0 is none
  why           TEXT NOT NULL CHECK (length(why) <= 200), -- why it is unreachable, in our words
  etag          TEXT NOT NULL CHECK (length(etag) <= 1024), -- validator, as received
  last_modified TEXT NOT NULL CHECK (length(last_modified) <= 200), -- validator, as received
  body          BYTEA NOT NULL CHECK (length(body) <= 512000), -- the text of robots.txt: published rules, not a page
  fetched_at    BIGINT NOT NULL, -- when it was asked
  expires_at    BIGINT NOT NULL, -- when it is no permission any more
  CHECK (expires_at <= fetched_at + 86400000)
);
CREATE INDEX robots_host ON robots (host);
CREATE INDEX robots_expiry ON robots (expires_at);

CREATE TABLE fetch_log (
  id           TEXT NOT NULL PRIMARY KEY CHECK (length(id) <= 40), -- the row's id
  at           BIGINT NOT NULL, -- when the request was written
  host         TEXT NOT NULL CHECK (length(host) <= 255), -- the host asked
  url          TEXT NOT NULL CHECK (length(url) <= 8192), -- the full URL, until retention ends or the site asks to be forgotten
  status       BIGINT NOT NULL, -- HTTP status, 0 is no answer
  outcome      TEXT NOT NULL CHECK (length(outcome) <= 40), -- answered, timeout, connection, cut …
  user_agent   TEXT NOT NULL CHECK (length(user_agent) <= 300), -- as sent
  egress       TEXT NOT NULL CHECK (length(egress) <= 100), -- the address or country it left from
  remote       TEXT NOT NULL CHECK (length(remote) <= 100), -- the address that was dialled
  cause_kind   TEXT NOT NULL CHECK (length(cause_kind) <= 10), -- read, batch, crawl, watch or policy
  cause_id     TEXT NOT NULL CHECK (length(cause_id) <= 60), -- the request, job or watch that caused it
  account      TEXT NOT NULL CHECK (length(account) <= 40), -- the customer
  request      TEXT NOT NULL CHECK (length(request) <= 60), -- the id of the API request that began it
  profile      TEXT NOT NULL CHECK (length(profile) <= 60), -- the bot it was made as
  stage        TEXT NOT NULL CHECK (length(stage) <= 10), -- control (robots.txt) or fetch
  duration_ms  BIGINT NOT NULL, -- how long it took
  bytes        BIGINT NOT NULL, -- how much came
  forgotten_at BIGINT -- when the site asked to be forgotten: the URL is cut to its path since then
);
CREATE INDEX fetch_log_host ON fetch_log (host, at);
CREATE INDEX fetch_log_at ON fetch_log (at);

CREATE TABLE opt_outs (
  id          TEXT NOT NULL PRIMARY KEY CHECK (length(id) <= 40), -- opt_ and random characters
  domain      TEXT NOT NULL CHECK (length(domain) <= 255), -- the domain it is for, with its sub-domains
  path_prefix TEXT NOT NULL CHECK (length(path_prefix) <= 2048), -- the part of the site; empty is all of it
  kind        TEXT NOT NULL CHECK (length(kind) <= 10 AND kind IN ('stop', 'delay')), -- what was asked for
  delay_ms    BIGINT NOT NULL CHECK (delay_ms >= 0 AND (delay_ms = 0) = (kind = 'stop')), -- the gap that was asked for
  reason      TEXT NOT NULL CHECK (length(reason) <= 500), -- why, in the operator's words
  asked_by    TEXT NOT NULL CHECK (length(asked_by) <= 200), -- who asked for it
  entered_at  BIGINT NOT NULL, -- when it was entered
  UNIQUE (domain, path_prefix, kind)
);

CREATE TABLE tombstones (
  domain       TEXT NOT NULL PRIMARY KEY CHECK (length(domain) <= 255), -- the domain that was forgotten, with its sub-domains
  asked_by     TEXT NOT NULL CHECK (length(asked_by) <= 200), -- who asked for it
  forgotten_at BIGINT NOT NULL -- when: nothing learnt before comes back
);

CREATE TABLE revisions (
  name  TEXT NOT NULL PRIMARY KEY CHECK (length(name) <= 40), -- a list that is held in memory
  value BIGINT NOT NULL -- grows when the list changes
);
INSERT INTO revisions (name, value) VALUES ('opt_outs', 0);
