package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/origintest"
	"github.com/webreaderapi/webreader/openapi"
)

// program is a customer's program over the client that is generated from the API's document.
type program struct {
	client *openapi.ClientWithResponses
	job    string
	pages  map[string]int // by address, how often they came
	last   string         // cursor of what came last
	failed int            // calls that the server did not answer, or not to the end
}

// again is how long the program waits before it repeats a call.
const again = 20 * time.Millisecond

// collect asks for results until they are done. A call that failed is repeated as it was.
func (r *program) collect(ctx context.Context) error {
	wait, limit := 5, 4
	for ctx.Err() == nil {
		params := openapi.GetJobResultsParams{Wait: &wait, Limit: &limit}
		if r.last != "" {
			params.Cursor = &r.last
		}
		a, err := r.client.GetJobResultsWithResponse(ctx, r.job, &params)
		if err != nil || a.StatusCode() == http.StatusServiceUnavailable {
			r.failed++
			<-time.After(again)
			continue
		}
		if a.JSON200 == nil {
			return fmt.Errorf("%d %s", a.StatusCode(), a.Body)
		}
		for _, result := range a.JSON200.Results {
			r.pages[result.Url]++
		}
		if a.JSON200.Done {
			return nil
		}
		r.last = a.JSON200.NextCursor
	}
	return ctx.Err()
}

// follow listens to events until the last one. A stream that ended before is opened again behind what came.
func (r *program) follow(ctx context.Context) error {
	for ctx.Err() == nil {
		params := openapi.StreamJobEventsParams{}
		if r.last != "" {
			params.LastEventID = &r.last
		}
		answer, err := r.client.StreamJobEvents(ctx, r.job, &params)
		if err == nil && answer.StatusCode == http.StatusOK && r.listen(answer) {
			return nil
		}
		r.failed++
		<-time.After(again)
	}
	return ctx.Err()
}

// listen takes the events of one stream; true after the last one of the job.
func (r *program) listen(answer *http.Response) (done bool) {
	defer answer.Body.Close()
	id, kind := "", ""
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			var result openapi.JobResult
			if kind == "done" {
				return true
			}
			if json.Unmarshal([]byte(value), &result) == nil && kind == "page" {
				r.pages[result.Url]++
				r.last = id
			}
		}
	}
	return false
}

// A program over the generated client reads a crawl to its end although the server is killed and, later, told
// to stop: every page comes to it once, and is charged once.
func TestAClientReadsACrawlThroughRestarts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tortured.yaml")
	if err := os.WriteFile(file, []byte(tortureBot), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func(*program, context.Context) error{"results": (*program).collect, "events": (*program).follow} {
		t.Run(name, func(t *testing.T) {
			onDatabases(t, func(t *testing.T, database string) {
				const pages = 30
				s := newLive(t, file, database, "WEBREADER_TIMEOUT=2s")
				var links []string
				for i := range pages - 1 {
					links = append(links, fmt.Sprintf("/%d", i))
				}
				s.Handle("a.test", "/", origintest.Body("text/html", origintest.Article("A")+anchors(links...)))
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				r := s.generated(ctx)
				ended := make(chan error, 1)
				go func() { ended <- read(r, ctx) }()
				for i, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
					for n := len(s.Requests()); n < 10*(i+1); n = len(s.Requests()) {
						<-time.After(time.Millisecond)
					}
					s.end(signal)
					s.start()
				}
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				for url, n := range r.pages {
					if n != 1 {
						t.Errorf("%s came %d times", url, n)
					}
				}
				if len(r.pages) != pages || s.units() != pages {
					t.Errorf("%d pages came and %d were charged, want %d", len(r.pages), s.units(), pages)
				}
				if r.failed == 0 {
					t.Error("the client noticed nothing of two restarts")
				}
			})
		})
	}
}

// generated begins a crawl with the generated client.
func (s *live) generated(ctx context.Context) *program {
	s.t.Helper()
	transport := &http.Transport{}
	s.t.Cleanup(transport.CloseIdleConnections)
	client, err := openapi.NewClientWithResponses(s.base, openapi.WithHTTPClient(&http.Client{Transport: transport}), openapi.WithRequestEditorFn(
		func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+s.key)
			return nil
		}))
	if err != nil {
		s.t.Fatal(err)
	}
	made, err := client.CreateCrawlWithResponse(ctx, &openapi.CreateCrawlParams{}, openapi.CrawlRequest{Url: "http://a.test/"})
	if err != nil || made.JSON202 == nil {
		s.t.Fatalf("%v %s", err, made.Body)
	}
	return &program{client: client, job: made.JSON202.Id, pages: map[string]int{}}
}
