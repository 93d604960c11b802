package store

import (
	"bytes"
	"database/sql"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden schema anew")

// column is a column as the migrations write it down.
type column struct{ table, name, kind, limit, purpose string }

var (
	createTable = regexp.MustCompile(`^CREATE TABLE (\w+) \(`)
	addColumn   = regexp.MustCompile(`^ALTER TABLE (\w+) ADD COLUMN (\w+)\s+(TEXT|BIGINT|BYTEA)\b(.*?),?;? -- (.+)$`)
	columnLine  = regexp.MustCompile(`^  (\w+)\s+(TEXT|BIGINT|BYTEA)\b(.*?),? -- (.+)$`)
	lengthCheck = regexp.MustCompile(`CHECK \(length\((\w+)\) <= (\d+)`)
)

// written are the columns that the migrations make, each with its purpose.
func written(t *testing.T) []column {
	t.Helper()
	var all []column
	noError(t, fs.WalkDir(migrations, "migrations", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := migrations.ReadFile(path)
		table := ""
		for line := range strings.Lines(string(text)) {
			line = strings.TrimRight(line, "\n")
			if m := createTable.FindStringSubmatch(line); m != nil {
				table = m[1]
			} else if m := columnLine.FindStringSubmatch(line); m != nil {
				all = append(all, newColumn(table, m[1], m[2], m[3], m[4]))
			} else if m := addColumn.FindStringSubmatch(line); m != nil {
				all = append(all, newColumn(m[1], m[2], m[3], m[4], m[5]))
			}
		}
		return err
	}))
	slices.SortFunc(all, func(a, b column) int { return strings.Compare(a.table+"."+a.name, b.table+"."+b.name) })
	return all
}

func newColumn(table, name, kind, rest, purpose string) column {
	c := column{table: table, name: name, kind: kind, limit: "-", purpose: purpose}
	if m := lengthCheck.FindStringSubmatch(rest); m != nil && m[1] == name {
		c.limit = m[2]
	}
	return c
}

// inDatabase are the columns that are really there: "table.column KIND".
func columnsOf(t *testing.T, s *Store) []string {
	t.Helper()
	text := `SELECT m.name || '.' || c.name || ' ' || c.type FROM sqlite_master m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE 'goose_%' AND m.name NOT LIKE 'river_%'`
	if s.postgres {
		text = `SELECT table_name || '.' || column_name || ' ' || CASE data_type WHEN 'text' THEN 'TEXT' WHEN 'bigint' THEN 'BIGINT'
			WHEN 'bytea' THEN 'BYTEA' ELSE data_type END FROM information_schema.columns WHERE table_schema = 'public'
			AND table_name NOT LIKE 'goose_%' AND table_name NOT LIKE 'river_%'`
	}
	var all []string
	noError(t, query(t.Context(), s.ro, text, nil, func(row *sql.Rows) error {
		var name string
		err := row.Scan(&name)
		all = append(all, name)
		return err
	}))
	slices.Sort(all)
	return all
}

// Every column has a purpose, every text and blob a longest length; what is there is what is written.
func TestEveryColumnHasAPurposeAndALimit(t *testing.T) {
	columns := written(t)
	var golden bytes.Buffer
	var names []string
	for _, c := range columns {
		fmt.Fprintf(&golden, "%s.%s %s %s: %s\n", c.table, c.name, c.kind, c.limit, c.purpose)
		names = append(names, c.table+"."+c.name+" "+c.kind)
		if c.kind != "BIGINT" && c.limit == "-" {
			t.Errorf("%s.%s has no longest length", c.table, c.name)
		}
	}
	onEach(t, func(t *testing.T, s *Store) {
		if there := columnsOf(t, s); !slices.Equal(there, names) {
			t.Errorf("columns in the database and in the migrations differ:\n%v\n%v", there, names)
		}
	})
	const file = "testdata/schema.golden"
	if *update {
		noError(t, os.MkdirAll("testdata", 0o755))
		noError(t, os.WriteFile(file, golden.Bytes(), 0o644))
	}
	want := must[[]byte](t)(os.ReadFile(file))
	if !bytes.Equal(want, golden.Bytes()) {
		t.Errorf("the schema differs from %s: look at the difference, then run this test with -update", file)
	}
}

// A table that names a site is in the list that forgetting a domain goes through.
func TestEveryTableThatNamesASiteIsForgotten(t *testing.T) {
	site := regexp.MustCompile(`(^|_)(host|url|domain|authority|uri|link|origin|site|target)(_|s?$)`)
	listed := map[string]string{}
	for _, f := range forgettings {
		listed[f.table] = f.column
		if f.kept == "" && f.what == "" {
			t.Errorf("forgetting %s says nothing", f.table)
		}
	}
	for _, c := range written(t) {
		if site.MatchString(c.name) && listed[c.table] == "" {
			t.Errorf("table %s has a column %s and is not among the forgettings", c.table, c.name)
		}
	}
}

// A table with envelopes is in the list that revoking a key goes through.
func TestEveryTableWithEnvelopesIsErasedWithItsKey(t *testing.T) {
	for _, c := range written(t) {
		if strings.Contains(c.name, "envelope") && !slices.Contains(sealedTables, c.table) {
			t.Errorf("table %s has a column %s and is not among the sealed tables", c.table, c.name)
		}
	}
}

// The limits are the database's: a text that is too long is refused.
func TestTheDatabaseKeepsTheLimits(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		account, _, _ := customer(t, s, "Anna")
		for _, c := range written(t) {
			if c.table != "accounts" || c.kind != "TEXT" || c.name == "status" {
				continue
			}
			var limit int
			if _, err := fmt.Sscan(c.limit, &limit); err != nil {
				t.Fatal(err)
			}
			_, err := s.db.Exec("UPDATE accounts SET "+c.name+" = $1 WHERE id = $2", strings.Repeat("x", limit+1), account.ID)
			if err == nil {
				t.Errorf("%s took %d characters", c.name, limit+1)
			}
		}
	})
}
