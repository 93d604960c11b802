package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/webreaderapi/webreader/reader/gate"
)

var _ gate.RobotsStore = (*Store)(nil)

const (
	maxRobotsBody = 512_000
	maxRobotsLife = 24 * time.Hour
)

// Robots is the stored answer for an authority. The gate asks whether it is still valid.
func (s *Store) Robots(ctx context.Context, authority string) (gate.RobotsCopy, bool, error) {
	c := gate.RobotsCopy{Authority: authority}
	var fetched, expires int64
	err := s.ro.QueryRowContext(ctx, `SELECT url, state, status, why, etag, last_modified, body, fetched_at, expires_at
		FROM robots WHERE authority = $1`, authority).
		Scan(&c.URL, &c.State, &c.Status, &c.Why, &c.ETag, &c.LastModified, &c.Body, &fetched, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return gate.RobotsCopy{}, false, nil
	}
	if err != nil {
		return gate.RobotsCopy{}, false, fmt.Errorf("read a robots.txt copy: %w", err)
	}
	c.FetchedAt, c.ExpiresAt = timeOf(fetched), timeOf(expires)
	return c, true, nil
}

// PutRobots stores an answer, unless a newer one is there or the domain was forgotten after it came.
// Validators that are too long to be kept are dropped: the next request is then unconditional.
func (s *Store) PutRobots(ctx context.Context, c gate.RobotsCopy) error {
	host, err := hostOf(c.Authority)
	if err != nil {
		return fmt.Errorf("store a robots.txt copy: %w", err)
	}
	c = fitRobots(c)
	a := args{c.Authority, host, c.URL, int64(c.State), c.Status, cut(c.Why, 200), c.ETag, c.LastModified, c.Body,
		c.FetchedAt.UnixMilli(), c.ExpiresAt.UnixMilli()}
	err = s.exec(ctx, `INSERT INTO robots (authority, host, url, state, status, why, etag, last_modified, body,
		fetched_at, expires_at) SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS BIGINT), CAST($5 AS BIGINT),
		CAST($6 AS TEXT), CAST($7 AS TEXT), CAST($8 AS TEXT), $9, CAST($10 AS BIGINT), CAST($11 AS BIGINT)
		WHERE NOT EXISTS (SELECT 1 FROM tombstones t WHERE t.forgotten_at >= $10 AND t.domain IN (`+a.list(domainsOf(host)...)+`))
		ON CONFLICT (authority) DO UPDATE SET host = excluded.host, url = excluded.url, state = excluded.state,
		status = excluded.status, why = excluded.why, etag = excluded.etag, last_modified = excluded.last_modified,
		body = excluded.body, fetched_at = excluded.fetched_at, expires_at = excluded.expires_at
		WHERE excluded.fetched_at >= robots.fetched_at`, a...)
	if err != nil {
		return fmt.Errorf("store a robots.txt copy: %w", err)
	}
	return nil
}

// fitRobots is c as the columns take it.
func fitRobots(c gate.RobotsCopy) gate.RobotsCopy {
	c.Body = append([]byte{}, c.Body[:min(len(c.Body), maxRobotsBody)]...)
	if c.State != gate.RobotsFound {
		c.Body = []byte{}
	}
	if len(c.ETag) > 1024 || c.ETag != cut(c.ETag, 1024) {
		c.ETag = ""
	}
	if len(c.LastModified) > 200 || c.LastModified != cut(c.LastModified, 200) {
		c.LastModified = ""
	}
	c.URL = cut(c.URL, 8192)
	if latest := c.FetchedAt.Add(maxRobotsLife); c.ExpiresAt.After(latest) {
		c.ExpiresAt = latest
	}
	return c
}

// hostOf is the host name in "https://site.example:8080".
func hostOf(authority string) (string, error) {
	u, err := url.Parse(authority)
	if err != nil || u.Hostname() == "" {
		return "", errors.New("the authority has no host")
	}
	return u.Hostname(), nil
}

// SweepRobots deletes copies that have been no permission for a day. It answers how many.
func (s *Store) SweepRobots(ctx context.Context) (int64, error) {
	return affected(ctx, s.db, "DELETE FROM robots WHERE expires_at <= "+s.nowSQL()+" - 86400000")
}
