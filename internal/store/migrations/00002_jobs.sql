-- Jobs: what customers want read, the URLs that wait, and results until they are collected. Texts of
-- pages are in envelopes only, sealed to the key that made the job.

-- +goose Up

CREATE TABLE jobs (
  id           TEXT NOT NULL PRIMARY KEY CHECK (length(id) <= 40), -- job_ and random characters
  account      TEXT NOT NULL CHECK (length(account) <= 40), -- whose job
  api_key      TEXT NOT NULL CHECK (length(api_key) <= 40), -- the key that made it: its results are sealed to it
  public_key   BYTEA NOT NULL CHECK (length(public_key) <= 32), -- that key's public half
  request      TEXT NOT NULL CHECK (length(request) <= 60), -- the id of the API request that made it
  kind         TEXT NOT NULL CHECK (length(kind) <= 10), -- batch or crawl
  status       TEXT NOT NULL CHECK (length(status) <= 10 AND status IN ('running', 'completed', 'cancelled', 'failed')), -- how it stands
  reason       TEXT NOT NULL CHECK (length(reason) <= 80), -- why it ended, or ended early
  options      TEXT NOT NULL CHECK (length(options) <= 100000), -- the read options, as JSON
  scope        TEXT NOT NULL CHECK (length(scope) <= 100000), -- a crawl's rules for paths and sitemaps, as JSON
  scope_host   TEXT NOT NULL CHECK (length(scope_host) <= 255), -- the host a crawl stays on
  webhook_url  TEXT NOT NULL CHECK (length(webhook_url) <= 2048), -- where its events go; empty is nowhere
  max_units    BIGINT NOT NULL, -- units it may cost at most
  max_pages    BIGINT NOT NULL, -- pages it may deliver at most
  max_requests BIGINT NOT NULL, -- requests it may make at most
  max_queued   BIGINT NOT NULL, -- URLs it may find at most
  max_bytes    BIGINT NOT NULL, -- it pauses while so many bytes wait to be collected
  created_at   BIGINT NOT NULL, -- when it was made
  deadline_at  BIGINT NOT NULL, -- it ends by then
  finished_at  BIGINT, -- when it ended
  expires_at   BIGINT, -- when its results are erased
  total        BIGINT NOT NULL DEFAULT 0, -- URLs in all
  delivered    BIGINT NOT NULL DEFAULT 0, -- pages delivered
  blocked      BIGINT NOT NULL DEFAULT 0, -- URLs that a site's policy blocked
  refused      BIGINT NOT NULL DEFAULT 0, -- URLs that a site refused
  failed       BIGINT NOT NULL DEFAULT 0, -- URLs that failed
  unchanged    BIGINT NOT NULL DEFAULT 0, -- pages that were as the customer knew them
  duplicate    BIGINT NOT NULL DEFAULT 0, -- URLs that were another URL's page
  skipped      BIGINT NOT NULL DEFAULT 0, -- URLs that were left out
  running      BIGINT NOT NULL DEFAULT 0, -- URLs being read
  units        BIGINT NOT NULL DEFAULT 0, -- charged
  requests     BIGINT NOT NULL DEFAULT 0, -- requests made for pages and sitemaps
  sitemaps     BIGINT NOT NULL DEFAULT 0, -- sitemap files asked for
  limits_hit   BIGINT NOT NULL DEFAULT 0, -- links that a bound kept out: depth, length, number
  next_place   BIGINT NOT NULL DEFAULT 1, -- the next URL's place
  next_seq     BIGINT NOT NULL DEFAULT 1, -- the next result's number
  undelivered  BIGINT NOT NULL DEFAULT 0, -- bytes of results that wait to be collected
  swept        BIGINT NOT NULL DEFAULT 0 CHECK (swept IN (0, 1)) -- 1 when its queue is cleared away
);
CREATE INDEX jobs_account ON jobs (account, created_at, id);
CREATE INDEX jobs_running ON jobs (deadline_at) WHERE status = 'running';
CREATE INDEX jobs_unswept ON jobs (finished_at) WHERE status <> 'running' AND swept = 0;
CREATE INDEX jobs_expiry ON jobs (expires_at) WHERE undelivered > 0;

CREATE TABLE frontier (
  job        TEXT NOT NULL CHECK (length(job) <= 40), -- the job
  place      BIGINT NOT NULL, -- the URL's number in it; job and place name the item
  kind       BIGINT NOT NULL CHECK (kind IN (0, 1, 2, 3, 4)), -- page, start page, sitemaps of a host, sitemap, other name of a page
  url        TEXT NOT NULL CHECK (length(url) <= 8192), -- what to request
  raw        TEXT NOT NULL CHECK (length(raw) <= 8192), -- as the customer wrote it; empty is the same
  twins      TEXT NOT NULL CHECK (length(twins) <= 1000000), -- the same URL given again, as written: a JSON list
  host       TEXT NOT NULL CHECK (length(host) <= 255), -- the URL's host
  pace_key   TEXT NOT NULL CHECK (length(pace_key) <= 300), -- the row of hosts it waits for
  form       BYTEA NOT NULL CHECK (length(form) <= 16), -- hash of the URL's normal form
  depth      BIGINT NOT NULL, -- links from the start
  state      BIGINT NOT NULL CHECK (state IN (0, 1, 2, 3)), -- waits, is read, done, done and delivered
  attempts   BIGINT NOT NULL DEFAULT 0, -- reads that failed and are tried again
  claims     BIGINT NOT NULL DEFAULT 0, -- fencing number: grows with every claim
  not_before BIGINT NOT NULL, -- not read before; while it is read, when the claim lapses
  PRIMARY KEY (job, place),
  UNIQUE (job, form)
);
CREATE INDEX frontier_ready ON frontier (job, pace_key, depth, place) WHERE state = 0;
CREATE INDEX frontier_claimed ON frontier (not_before) WHERE state = 1;
CREATE INDEX frontier_host ON frontier (host);

CREATE TABLE job_hosts (
  job       TEXT NOT NULL CHECK (length(job) <= 40), -- the job
  pace_key  TEXT NOT NULL CHECK (length(pace_key) <= 300), -- the row of hosts
  pending   BIGINT NOT NULL CHECK (pending >= 0), -- its URLs that wait for it or are read
  served_at BIGINT NOT NULL, -- when the job was served there last: the one that waits longest is next
  failing   BIGINT NOT NULL DEFAULT 0, -- answers in a row that asked for a longer wait
  PRIMARY KEY (job, pace_key)
);
CREATE INDEX job_hosts_ready ON job_hosts (pace_key, served_at) WHERE pending > 0;

CREATE TABLE results (
  job      TEXT NOT NULL CHECK (length(job) <= 40), -- the job
  seq      BIGINT NOT NULL, -- its number in the order of completion
  item     TEXT NOT NULL CHECK (length(item) <= 60), -- the item it answers: bound into the envelope
  api_key  TEXT NOT NULL CHECK (length(api_key) <= 40), -- the key it is sealed to
  host     TEXT NOT NULL CHECK (length(host) <= 255), -- the host that was read, for forgetting
  failure  BIGINT NOT NULL CHECK (failure IN (0, 1)), -- 1 when it is an error
  envelope BYTEA NOT NULL CHECK (length(envelope) <= 100000000), -- the page or error, sealed
  PRIMARY KEY (job, seq)
);
CREATE INDEX results_key ON results (api_key);
CREATE INDEX results_host ON results (host);

CREATE TABLE deliveries (
  id         TEXT NOT NULL PRIMARY KEY CHECK (length(id) <= 40), -- the event's id: evt_ and random characters
  account    TEXT NOT NULL CHECK (length(account) <= 40), -- whose event
  job        TEXT NOT NULL CHECK (length(job) <= 40), -- the job it is about
  event      TEXT NOT NULL CHECK (length(event) <= 40), -- its type
  url        TEXT NOT NULL CHECK (length(url) <= 2048), -- where it goes
  body       TEXT NOT NULL CHECK (length(body) <= 300000), -- what is told: ids, URLs, kinds and counts
  attempts   BIGINT NOT NULL, -- tries so far
  status     BIGINT NOT NULL, -- the receiver's last status, 0 is none
  problem    TEXT NOT NULL CHECK (length(problem) <= 200), -- why it did not arrive, in our words
  state      BIGINT NOT NULL CHECK (state IN (0, 1, 2)), -- waits, delivered, given up
  next_at    BIGINT NOT NULL, -- when it is tried next
  created_at BIGINT NOT NULL, -- when it happened
  ended_at   BIGINT -- when it was delivered or given up
);
CREATE INDEX deliveries_due ON deliveries (next_at) WHERE state = 0;
CREATE INDEX deliveries_job ON deliveries (job, created_at);

ALTER TABLE hosts ADD COLUMN jobs_at BIGINT NOT NULL DEFAULT 0; -- jobs look at the host not before; also their rank in the queue
DROP INDEX hosts_ready;
CREATE INDEX hosts_jobs ON hosts (jobs_at) WHERE pending > 0;
