package conformance

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/origintest"
)

// heap is what the server's live objects take, in bytes.
func (s *live) heap() int {
	s.t.Helper()
	answer, err := http.Get("http://" + s.admin + "/debug/pprof/heap?gc=1&debug=1")
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n# HeapAlloc = ")
	number, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(number)
	if err != nil {
		s.t.Fatalf("no heap in %.200s: %v", text, err)
	}
	return n
}

// Streams whose readers stand still take no memory for what the readers have not taken: the job's results stay
// where they are, sealed. A reader that goes on later gets all of it.
func TestSlowReadersTakeNoMemory(t *testing.T) {
	const pages, readers = 40, 8
	s := quickLive(t, "sqlite:")
	text := strings.Repeat("<p>The mill by the river was built of oak and brick, and it ground the corn of four villages until the railway came.</p>\n", 2500)
	s.Handle("*", "/", origintest.Body("text/html", strings.Replace(origintest.Article("Long"), "</article>", text+"</article>", 1)))
	var urls []string
	for i := range pages { // two pages, each asked for again and again: a result for each time
		urls = append(urls, fmt.Sprintf(`"http://h%d.test/"`, i%2))
	}
	j := s.order("/batch", `{"urls":[`+strings.Join(urls, ",")+`],"formats":["markdown","text","html"]}`)
	before := s.heap()
	var open []*bufio.Reader
	for i := range readers {
		r, err := http.NewRequest("GET", s.base+"/jobs/"+j.ID+"/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+s.key)
		r.Header.Set("Accept", []string{"application/x-ndjson", "text/event-stream"}[i%2])
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		open = append(open, bufio.NewReader(answer.Body))
		if _, err := open[i].ReadByte(); err != nil {
			t.Fatal(err)
		}
	}
	most := 0
	for range 5 {
		most = max(most, s.heap()-before)
	}
	read := 0
	size := 0
	for lines := bufio.NewReader(io.MultiReader(strings.NewReader("{"), open[0])); ; {
		line, err := lines.ReadString('\n')
		size += len(line)
		if strings.HasPrefix(line, `{"done":true`) {
			break
		}
		if err != nil || !strings.HasPrefix(line, fmt.Sprintf(`{"seq":%d,`, read+1)) || len(line) < 1<<19 {
			t.Fatalf("line %d: %v %.100s", read+1, err, line)
		}
		read++
	}
	t.Logf("%d bytes of results; %d readers that stand still take %d bytes", size, readers, most)
	if read != pages {
		t.Errorf("%d pages came, want %d", read, pages)
	}
	if limit := readers * size / 4; most > limit {
		t.Errorf("%d readers that stand still take %d bytes, more than %d, for results of %d", readers, most, limit, size)
	}
}

// A call with wait answers as soon as there is a result, and empty when there is none in time; it
// acknowledges by the cursor that it came with, and by no other.
func TestWaitingForResults(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		s := quickLive(t, database)
		asked, release := make(chan struct{}, 1), make(chan struct{})
		page := origintest.Body("text/html", origintest.Article("A"))
		s.Handle("first.test", "/", page)
		s.HandleFunc("second.test", "/page", func(w http.ResponseWriter, r *http.Request) {
			asked <- struct{}{}
			origintest.When(release, page).ServeHTTP(w, r)
		})
		type answer struct {
			Results    []result
			NextCursor string `json:"next_cursor"`
			Done       bool
		}
		_, text := s.call("POST", "/batch", `{"urls":["http://first.test/","http://second.test/page"]}`)
		id := decode[job](t, text).ID
		ask := func(query string) answer {
			_, text := s.call("GET", "/jobs/"+id+"/results?"+query, "")
			return decode[answer](t, text)
		}
		first := ask("wait=20")
		if len(first.Results) != 1 || first.Results[0].URL != "http://first.test/" || first.Done {
			t.Fatalf("first came %+v", first)
		}
		if again := ask("wait=20"); len(again.Results) != 1 || again.Results[0].Seq != first.Results[0].Seq {
			t.Errorf("without a cursor nothing is acknowledged; then came %+v", again)
		}
		<-asked
		if none := ask("wait=1&cursor=" + first.NextCursor); len(none.Results) != 0 || none.Done || none.NextCursor != first.NextCursor {
			t.Errorf("when there was nothing came %+v", none)
		}
		if gone := ask("limit=5"); len(gone.Results) != 0 {
			t.Errorf("what was acknowledged came again: %+v", gone)
		}
		waiting := make(chan answer, 1)
		began := time.Now()
		go func() { waiting <- ask("wait=30&cursor=" + first.NextCursor) }()
		close(release)
		second := <-waiting
		if len(second.Results) != 1 || second.Results[0].URL != "http://second.test/page" || time.Since(began) > 25*time.Second {
			t.Errorf("after %v came %+v", time.Since(began), second)
		}
		s.await(id)
		if end := ask("wait=30&cursor=" + second.NextCursor); len(end.Results) != 0 || !end.Done {
			t.Errorf("in the end came %+v", end)
		}
		for _, wrong := range []string{"x", "-1", "99", "1e3", "01"} {
			if status, text := s.call("GET", "/jobs/"+id+"/results?cursor="+wrong, ""); status != http.StatusBadRequest || !strings.Contains(string(text), "cursor") {
				t.Errorf("cursor %s: %d %s", wrong, status, text)
			}
		}
	})
}

// Whatever another account does at a job's door, the job is not there, and stays as it is.
func TestAnotherAccountsJobIsNotThere(t *testing.T) {
	s := quickLive(t, "sqlite:")
	s.Handle("*", "/", origintest.Body("text/html", origintest.Article("A")))
	j := s.order("/batch", `{"urls":["http://a.test/1","http://a.test/2"]}`)
	own := s.key
	s.key = strings.TrimSpace(s.run("keys", "create", "--account", "other", "--create-account").Stdout)
	_, none := s.call("GET", "/jobs/job_aaaaaaaaaaaaaaaaaaaaaaaaaa", "")
	for _, c := range [][2]string{{"GET", ""}, {"DELETE", ""}, {"GET", "/results?cursor=2"}, {"GET", "/events"}, {"GET", "/deliveries"}} {
		status, text := s.call(c[0], "/jobs/"+j.ID+c[1], "", "Last-Event-ID", "2")
		missing, known := decode[struct{ Code, Detail string }](t, none), decode[struct{ Code, Detail string }](t, text)
		if status != http.StatusNotFound || known != missing {
			t.Errorf("%s %s: %d %+v, want what comes for a job that nobody has, %+v", c[0], c[1], status, known, missing)
		}
	}
	if _, text := s.call("GET", "/jobs", ""); strings.Contains(string(text), j.ID) {
		t.Errorf("listed: %s", text)
	}
	s.key = own
	if results := s.collect(j.ID); len(results) != 2 {
		t.Errorf("%d results are left to their customer", len(results))
	}
}
