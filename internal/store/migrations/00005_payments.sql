-- Paying: subscriptions at the payment service, sign-ups, its events, and what was reported to it.

-- +goose Up

ALTER TABLE accounts ADD COLUMN pay_by BIGINT; -- when an unpaid bill stops the account; null while nothing is owed

CREATE TABLE subscriptions (
  id           TEXT NOT NULL PRIMARY KEY CHECK (length(id) <= 100), -- the payment service's id
  account      TEXT NOT NULL CHECK (length(account) <= 40) REFERENCES accounts (id), -- who pays by it
  customer     TEXT NOT NULL CHECK (length(customer) <= 100), -- the payment service's id of the customer
  plan         TEXT NOT NULL CHECK (length(plan) <= 40), -- the plan it was bought for
  state        TEXT NOT NULL CHECK (length(state) <= 10 AND state IN ('paying', 'owing', 'unpaid', 'ended', 'unbegun')), -- as it was last seen
  seen_at      BIGINT NOT NULL, -- when the payment service was last asked; an older answer changes nothing
  billed_from  BIGINT NOT NULL, -- debits from this whole minute on are reported
  billed_until BIGINT -- debits from here on are not; null while it runs
);
CREATE INDEX subscriptions_account ON subscriptions (account, billed_from);
CREATE INDEX subscriptions_customer ON subscriptions (customer);

CREATE TABLE checkouts (
  id          TEXT NOT NULL PRIMARY KEY CHECK (length(id) <= 200), -- the payment service's id of the checkout session
  cookie_hash TEXT NOT NULL CHECK (length(cookie_hash) <= 64), -- SHA-256 of the cookie of the browser that began it
  account     TEXT NOT NULL CHECK (length(account) <= 40), -- the account that upgrades, or that was made; empty before
  name        TEXT NOT NULL CHECK (length(name) <= 200), -- what the new account is to be called
  plan        TEXT NOT NULL CHECK (length(plan) <= 40), -- the plan that is bought
  upgrade     BIGINT NOT NULL CHECK (upgrade IN (0, 1)), -- 1 when an account upgrades: no key is shown
  api_key     TEXT NOT NULL CHECK (length(api_key) <= 40), -- the id of the key that was shown; empty is none
  shown_at    BIGINT, -- when a key was shown first
  done_at     BIGINT, -- when its subscription was linked
  expires_at  BIGINT NOT NULL -- when it is forgotten
);
CREATE INDEX checkouts_expiry ON checkouts (expires_at);

CREATE TABLE payment_events (
  id           TEXT NOT NULL PRIMARY KEY CHECK (length(id) <= 100), -- the payment service's id of the event, or one of ours
  kind         TEXT NOT NULL CHECK (length(kind) <= 100), -- what happened
  session      TEXT NOT NULL CHECK (length(session) <= 200), -- the checkout it is about, or empty
  subscription TEXT NOT NULL CHECK (length(subscription) <= 100), -- the subscription it is about, or empty
  customer     TEXT NOT NULL CHECK (length(customer) <= 100), -- the customer it is about, or empty
  rejected     TEXT NOT NULL CHECK (length(rejected) <= 10000), -- identifiers of reports that were not taken, with blanks between
  problem      TEXT NOT NULL CHECK (length(problem) <= 300), -- what it says is wrong, or why it was not dealt with yet
  tries        BIGINT NOT NULL CHECK (tries >= 0), -- how often it was taken up
  received_at  BIGINT NOT NULL, -- when it came
  due_at       BIGINT NOT NULL, -- when it is taken up next
  done_at      BIGINT -- when it was dealt with
);
CREATE INDEX payment_events_due ON payment_events (due_at) WHERE done_at IS NULL;
CREATE INDEX payment_events_done ON payment_events (done_at) WHERE done_at IS NOT NULL;

CREATE TABLE reports (
  id          TEXT NOT NULL PRIMARY KEY CHECK (length(id) <= 60), -- the identifier at the payment service
  account     TEXT NOT NULL CHECK (length(account) <= 40), -- whose usage
  customer    TEXT NOT NULL CHECK (length(customer) <= 100), -- the payment service's id of the customer
  units       BIGINT NOT NULL CHECK (units >= 0), -- how much
  credited    BIGINT NOT NULL DEFAULT 0 CHECK (credited >= 0 AND credited <= units), -- how much of it is being taken back
  minute      BIGINT NOT NULL, -- the whole minute it is dated
  state       TEXT NOT NULL CHECK (length(state) <= 10 AND state IN ('waiting', 'arrived', 'given_up', 'cancelling', 'cancelled')), -- what became of it
  tries       BIGINT NOT NULL DEFAULT 0 CHECK (tries >= 0), -- how often it was sent
  sent_at     BIGINT, -- when it may have arrived first; null is never sent
  due_at      BIGINT NOT NULL, -- when it is sent next; while it is sent, when somebody else may
  arrived_at  BIGINT, -- when the payment service was known to have it, or to have cancelled it
  problem     TEXT NOT NULL DEFAULT '' CHECK (length(problem) <= 300), -- why it did not arrive
  UNIQUE (customer, minute)
);
CREATE INDEX reports_due ON reports (due_at) WHERE state IN ('waiting', 'cancelling');
CREATE INDEX reports_account ON reports (account, minute);
-- Waiting rows are now looked up by having no report; without this, PostgreSQL reads all of them to mark a few.
DROP INDEX outbox_waiting;
CREATE INDEX outbox_batch ON outbox (batch);
CREATE INDEX outbox_unbatched ON outbox (account, debited_at) WHERE batch IS NULL;

CREATE TABLE credits (
  id          TEXT NOT NULL PRIMARY KEY CHECK (length(id) <= 40), -- crd_ and random characters
  account     TEXT NOT NULL CHECK (length(account) <= 40) REFERENCES accounts (id), -- who gets it
  units       BIGINT NOT NULL CHECK (units > 0), -- how much
  month       TEXT NOT NULL CHECK (length(month) <= 7), -- the month whose allowance it gives back to
  billed      BIGINT NOT NULL CHECK (billed IN (0, 1)), -- 1 when it is taken off what was reported
  reason      TEXT NOT NULL CHECK (length(reason) <= 500), -- why, in the operator's words
  counts_at   BIGINT NOT NULL, -- the moment whose usage it takes from
  credited_at BIGINT NOT NULL -- when it was given
);
CREATE INDEX credits_account ON credits (account, counts_at);

CREATE TABLE thresholds (
  account    TEXT NOT NULL CHECK (length(account) <= 40), -- whose usage
  month      TEXT NOT NULL CHECK (length(month) <= 7), -- of which month
  percent    BIGINT NOT NULL, -- 80 or 100
  event      TEXT NOT NULL CHECK (length(event) <= 40), -- the event's id: evt_ and random characters
  ceiling    BIGINT NOT NULL, -- what it is a share of
  charged    BIGINT NOT NULL, -- what was charged when it was noticed
  crossed_at BIGINT NOT NULL, -- when it was noticed
  tries      BIGINT NOT NULL, -- how often the customer was told
  due_at     BIGINT NOT NULL, -- when the customer is told next
  done_at    BIGINT, -- when that ended, well or not
  PRIMARY KEY (account, month, percent)
);
CREATE INDEX thresholds_due ON thresholds (due_at) WHERE done_at IS NULL;
