-- Mends: reports that were given up are tried again while the payment service still takes them, and a replaced
-- webhook secret signs beside the new one for a while.

-- +goose Up

DROP INDEX reports_due;
CREATE INDEX reports_due ON reports (due_at) WHERE state IN ('waiting', 'cancelling', 'given_up');
ALTER TABLE accounts ADD COLUMN old_webhook_secret TEXT NOT NULL DEFAULT '' CHECK (length(old_webhook_secret) <= 80); -- the webhook secret before this one; empty is none
ALTER TABLE accounts ADD COLUMN old_webhook_secret_until BIGINT NOT NULL DEFAULT 0; -- until when it signs too
