-- What is sealed to a key is counted and erased by the key.

-- +goose Up

CREATE INDEX watch_changes_key ON watch_changes (api_key);
