-- Watches: rounds over the pages of sites. Of a page only what makes the next visit cheap is kept:
-- validators, keyed digests, keyed fingerprints. Changes lie sealed until their customer took them.

-- +goose Up

CREATE TABLE watches (
  id            TEXT NOT NULL PRIMARY KEY CHECK (length(id) <= 40), -- wat_ and random characters
  account       TEXT NOT NULL CHECK (length(account) <= 40) REFERENCES accounts (id), -- whose it is
  api_key       TEXT NOT NULL CHECK (length(api_key) <= 40), -- the API key it was made with
  name          TEXT NOT NULL CHECK (length(name) <= 200), -- what the customer calls it
  status        TEXT NOT NULL CHECK (length(status) <= 10 AND status IN ('active', 'paused')), -- does it have rounds
  reason        TEXT NOT NULL CHECK (length(reason) <= 80), -- why it paused itself; empty otherwise
  options       TEXT NOT NULL CHECK (length(options) <= 60000), -- read options, as JSON
  cron          TEXT NOT NULL CHECK (length(cron) <= 100), -- when rounds begin; empty is by the profile
  zone          TEXT NOT NULL CHECK (length(zone) <= 64), -- the time zone of cron
  max_pages     BIGINT NOT NULL CHECK (max_pages >= 0), -- pages per site and round; 0 is the profile's
  max_units     BIGINT NOT NULL CHECK (max_units >= 0), -- charged at most; 0 is no ceiling
  units         BIGINT NOT NULL CHECK (units >= 0 AND (max_units = 0 OR units <= max_units)), -- charged or reserved under that ceiling
  webhook_url   TEXT NOT NULL CHECK (length(webhook_url) <= 2048), -- where its events go, given by the customer; empty is nowhere
  request       TEXT NOT NULL CHECK (length(request) <= 60), -- the API request that made it
  next_seq      BIGINT NOT NULL, -- number of the next change
  next_round_at BIGINT, -- when a round is due; null is never
  round         TEXT NOT NULL CHECK (length(round) <= 40), -- the unfinished round; empty is none
  created_at    BIGINT NOT NULL -- when it was made
);
CREATE INDEX watches_account ON watches (account, created_at);
CREATE INDEX watches_due ON watches (next_round_at) WHERE status = 'active' AND round = '';

CREATE TABLE watch_sites (
  watch   TEXT NOT NULL CHECK (length(watch) <= 40) REFERENCES watches (id), -- the watch it belongs to
  number  BIGINT NOT NULL, -- its place in the watch
  host    TEXT NOT NULL CHECK (length(host) <= 255), -- of its first start page, for forgetting
  name    TEXT NOT NULL CHECK (length(name) <= 200), -- what the customer calls it
  sitemap BIGINT NOT NULL CHECK (sitemap IN (0, 1)), -- are its sitemaps read
  rules   TEXT NOT NULL CHECK (length(rules) <= 90000), -- include, exclude and topics, as JSON
  PRIMARY KEY (watch, number)
);
CREATE INDEX watch_sites_host ON watch_sites (host);

CREATE TABLE watch_pages (
  watch         TEXT NOT NULL CHECK (length(watch) <= 40), -- the watch
  number        BIGINT NOT NULL, -- of the site in it
  hash          TEXT NOT NULL CHECK (length(hash) <= 16), -- of the address: the page's name within the site
  url           TEXT NOT NULL CHECK (length(url) <= 2048), -- its address
  host          TEXT NOT NULL CHECK (length(host) <= 255), -- the host in it, for forgetting
  kind          BIGINT NOT NULL CHECK (kind BETWEEN 0 AND 4), -- start page, linked page, document, feed, sitemap
  fed           BIGINT NOT NULL CHECK (fed IN (0, 1)), -- a feed tells when it is new
  wanted        BIGINT NOT NULL CHECK (wanted IN (0, 1)), -- a feed, sitemap or link says that it is new
  hint          TEXT NOT NULL CHECK (length(hint) <= 60), -- digest of what they said of it last
  etag          TEXT NOT NULL CHECK (length(etag) <= 1024), -- validator, as received
  last_modified TEXT NOT NULL CHECK (length(last_modified) <= 200), -- validator, as received
  body          BYTEA NOT NULL CHECK (length(body) <= 32), -- keyed digest of the body
  state         BYTEA NOT NULL CHECK (length(state) <= 4096), -- keyed fingerprints of its sentences
  checked_at    BIGINT NOT NULL, -- when it was asked for last; 0 is never
  round         TEXT NOT NULL CHECK (length(round) <= 40), -- the round that was in
  PRIMARY KEY (watch, number, hash)
);
CREATE INDEX watch_pages_host ON watch_pages (host);

CREATE TABLE watch_rounds (
  id          TEXT NOT NULL PRIMARY KEY CHECK (length(id) <= 40), -- rnd_ and random characters
  watch       TEXT NOT NULL CHECK (length(watch) <= 40), -- the watch
  due_at      BIGINT NOT NULL, -- when it was due
  begun_at    BIGINT NOT NULL, -- when it was made
  started_at  BIGINT, -- when its first site was visited
  finished_at BIGINT -- when its last site was
);
CREATE INDEX watch_rounds_watch ON watch_rounds (watch, begun_at);

CREATE TABLE watch_visits (
  round      TEXT NOT NULL CHECK (length(round) <= 40), -- the round
  number     BIGINT NOT NULL, -- of the site
  watch      TEXT NOT NULL CHECK (length(watch) <= 40), -- the watch
  done       BIGINT NOT NULL CHECK (done IN (0, 1)), -- is it over
  not_before BIGINT NOT NULL, -- when it may be taken up; while leased, the lease's end
  lease      BIGINT NOT NULL, -- fencing number: grows with every lease
  failed     BIGINT NOT NULL, -- failures in a row
  n_new      BIGINT NOT NULL, -- pages seen for the first time
  n_changed  BIGINT NOT NULL, -- pages that changed
  n_back     BIGINT NOT NULL, -- pages that came back
  n_same     BIGINT NOT NULL, -- pages that did not change
  n_gone     BIGINT NOT NULL, -- pages that are gone
  n_skipped  BIGINT NOT NULL, -- pages that could not be had
  requests   BIGINT NOT NULL, -- requests for pages, feeds and sitemaps
  PRIMARY KEY (round, number)
);
CREATE INDEX watch_visits_ready ON watch_visits (not_before) WHERE done = 0;
CREATE INDEX watch_visits_watch ON watch_visits (watch);

CREATE TABLE watch_skips (
  round  TEXT NOT NULL CHECK (length(round) <= 40), -- the round
  watch  TEXT NOT NULL CHECK (length(watch) <= 40), -- the watch
  host   TEXT NOT NULL CHECK (length(host) <= 255), -- the host that was left alone
  reason TEXT NOT NULL CHECK (length(reason) <= 80), -- why
  PRIMARY KEY (round, host)
);
CREATE INDEX watch_skips_host ON watch_skips (host);

CREATE TABLE watch_changes (
  watch       TEXT NOT NULL CHECK (length(watch) <= 40), -- the watch
  seq         BIGINT NOT NULL, -- its number within the watch
  item        TEXT NOT NULL CHECK (length(item) <= 40), -- bound into the envelope
  api_key     TEXT NOT NULL CHECK (length(api_key) <= 40), -- the API key it is sealed to
  host        TEXT NOT NULL CHECK (length(host) <= 255), -- the host it is about, for forgetting
  envelope    BYTEA NOT NULL CHECK (length(envelope) <= 33554432), -- the change, sealed
  detected_at BIGINT NOT NULL, -- when it was found
  PRIMARY KEY (watch, seq)
);
CREATE INDEX watch_changes_host ON watch_changes (host);
CREATE INDEX watch_changes_age ON watch_changes (detected_at);
