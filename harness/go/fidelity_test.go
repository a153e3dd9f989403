package virtual_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/virtual"
	"lockstep/virtual/fakeapi"
)

// realProgram is a kube-controller-manager of the same version, for a comparison in real time.
const realProgram = "KUBE_CONTROLLER_MANAGER"

// The real program, over HTTP and in real time, and the same controllers in virtual time send the same requests to the
// same server: as many of each, with the same bodies less names, times and versions, each client's in the same order.
func TestUpstreamSendsWhatTheRealProgramSends(t *testing.T) {
	path := os.Getenv(realProgram)
	if path == "" {
		t.Skipf("set %s to a kube-controller-manager of the same version", realProgram)
	}
	conn, hello := outside(t, 0)
	controllers := []string{"deployment", "replicaset", "garbagecollector"}
	const lasts = 90 * time.Second // a start takes real programs up to five
	short := func(start time.Time) *fakeapi.Server {
		api := fakeapi.New()
		api.Latency = apart()
		pods := 0
		api.OnWrite = func(verb, resource string, o fakeapi.Object) {
			if resource != "pods" || verb != "create" || pods == 3 {
				return
			}
			pods++ // the first three become ready, one after the other
			name := fakeapi.Meta(o)["name"].(string)
			api.At(start.Add(time.Duration(20+4*pods)*time.Second), func() {
				o := api.Get("pods", "default", name)
				o["status"] = readyStatus(start)
				api.Update("pods", o, true)
			})
		}
		api.At(start.Add(15*time.Second), func() { api.Create("deployments", quick("web:1")) })
		api.At(start.Add(45*time.Second), func() {
			d := api.Get("deployments", "default", "web")
			d["spec"] = quick("web:2")["spec"]
			api.Update("deployments", d, false)
		})
		return api
	}
	now := time.Now().Truncate(time.Second)
	imagined := play(t, conn, virtual.Start{Now: now.UnixNano(), Controllers: controllers, Seed: 1}, short(now), lasts)
	logs := map[string][]string{"virtual": imagined.log, "real": inRealTime(t, path, controllers, short, lasts)}
	for name, log := range logs {
		logs[name] = normalised(log)
		if os.Getenv("SHOW") != "" {
			t.Logf("%s:\n%s", name, strings.Join(logs[name], "\n"))
		}
	}
	if slices.Equal(logs["virtual"], logs["real"]) {
		t.Logf("%s: %d requests, the same", hello.Version, len(logs["real"]))
		return
	}
	// How often a conflict is met before it is resolved is a matter of milliseconds, which a busy machine does not keep.
	counts := fmt.Sprint(len(logs["virtual"]), " in virtual and ", len(logs["real"]), " in real time")
	for name, log := range logs {
		logs[name] = slices.Compact(log)
	}
	if slices.Equal(logs["virtual"], logs["real"]) {
		t.Logf("%s: the same but for repetitions: %s", hello.Version, counts)
		return
	}
	for name, other := range map[string]string{"virtual": "real", "real": "virtual"} {
		count := map[string]int{}
		for _, l := range logs[name] {
			count[l]++
		}
		for _, l := range logs[other] {
			count[l]--
		}
		for _, l := range slices.Sorted(maps.Keys(count)) {
			if count[l] > 0 {
				t.Errorf("only %s, %d times: %s", name, count[l], l)
			}
		}
	}
	if !t.Failed() {
		t.Error("the requests are the same, in another order")
	}
}

// apart makes latencies long enough for a real program to do between two answers what it has to, and different for each
// object and for each request for it: of two answers that are due at one instant it is chance which comes first.
func apart() func(virtual.Request) time.Duration {
	asked := map[string]int{}
	return func(q virtual.Request) time.Duration {
		path, _, _ := strings.Cut(q.URI, "?")
		key := q.Method + path
		hash := fnv.New32()
		_, _ = hash.Write([]byte(key))
		asked[key]++
		return 150*time.Millisecond + time.Duration(hash.Sum32()%10)*37*time.Millisecond + time.Duration(asked[key]%4)*53*time.Millisecond
	}
}

func quick(image string) fakeapi.Object {
	d := deployment(image)
	d["spec"].(fakeapi.Object)["progressDeadlineSeconds"] = 20
	return d
}

// inRealTime runs the real program on a server that answers over HTTP when the clock says so.
func inRealTime(t *testing.T, path string, controllers []string, server func(time.Time) *fakeapi.Server, d time.Duration) []string {
	// On a whole second, as the other: conditions have times without fractions, and a deadline is counted from those.
	start := time.Now().Truncate(time.Second).Add(time.Second)
	time.Sleep(time.Until(start))
	front := &front{api: server(start), requests: map[int]chan virtual.Response{}, watches: map[int]chan []byte{}, wake: make(chan struct{}, 1)}
	listener := httptest.NewServer(front)
	defer listener.CloseClientConnections()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters: [{name: x, cluster: {server: %q}}]\ncontexts: [{name: x, context: {cluster: x, user: x}}]\nusers: [{name: x}]\n", listener.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(path, "--kubeconfig="+kubeconfig, "--controllers="+strings.Join(controllers, ","), "--leader-elect=false",
		"--secure-port=0", "--kube-api-content-type=application/json", "--kube-api-qps=2000", "--kube-api-burst=4000")
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	front.run(start.Add(d))
	_ = c.Process.Kill()
	_ = c.Wait()
	return front.log
}

// front serves a fakeapi over HTTP in real time.
type front struct {
	mu       sync.Mutex
	api      *fakeapi.Server
	id       int
	fresh    []virtual.Request
	closed   []int
	requests map[int]chan virtual.Response
	watches  map[int]chan []byte
	log      []string
	wake     chan struct{}
}

func (f *front) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	q := virtual.Request{Client: r.UserAgent(), Method: r.Method, URI: r.URL.RequestURI(), ContentType: r.Header.Get("Content-Type"), Accept: r.Header.Get("Accept")}
	if json.Valid(b) {
		q.Body = bytes.TrimSpace(b) // clients end a body with a line feed, which is no part of a frame
	} else {
		q.Bytes = b
	}
	f.mu.Lock()
	f.id++
	q.ID = f.id
	reply := make(chan virtual.Response, 1)
	f.requests[q.ID] = reply
	f.fresh = append(f.fresh, q)
	if !virtual.Discovery(r) {
		f.log = append(f.log, line(q))
	}
	f.mu.Unlock()
	f.signal()
	answer := <-reply
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(answer.Code)
	if !answer.Stream {
		_, _ = w.Write(answer.Body)
		return
	}
	f.mu.Lock()
	events := f.watches[q.ID]
	f.mu.Unlock()
	w.(http.Flusher).Flush()
	for {
		select {
		case e, ok := <-events:
			if !ok {
				return
			}
			_, _ = w.Write(append(e, '\n'))
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			f.mu.Lock()
			f.closed = append(f.closed, q.ID)
			f.mu.Unlock()
			f.signal()
			return
		}
	}
}

// run is the outside, with the real clock in place of a bubble's.
func (f *front) run(until time.Time) {
	for {
		f.mu.Lock()
		idle := virtual.Idle{Now: time.Now().UnixNano(), Requests: f.fresh, Closed: f.closed}
		f.fresh, f.closed = nil, nil
		turn, ok := f.api.Turn(idle, until)
		if !ok {
			f.mu.Unlock()
			return
		}
		var wait time.Duration
		switch {
		case turn.Response != nil:
			if turn.Response.Stream {
				f.watches[turn.Response.ID] = make(chan []byte, 1000)
			}
			f.requests[turn.Response.ID] <- *turn.Response
		case turn.Chunk != nil:
			f.watches[turn.Chunk.ID] <- turn.Chunk.Data
		case turn.Advance != nil:
			wait = time.Until(time.Unix(0, turn.Advance.Until))
		}
		f.mu.Unlock()
		if wait > 0 {
			select {
			case <-time.After(wait):
			case <-f.wake:
			}
		}
	}
}

var (
	agent   = regexp.MustCompile(`^\S+ \(\S+\) \S+/(\S+) `)
	stamps  = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[^"]+"`)
	version = regexp.MustCompile(`"?resourceVersion"?[=:]"?\d+"?`)
	made    = regexp.MustCompile(`(web-[0-9a-f]+-|"uid":"[0-9-]{24,}-?|-)\d{5,12}\b`)
	events  = regexp.MustCompile(`\.[0-9a-f]{16}\b`)
)

// normalised is a log less what differs between two runs of one program: names that are made, times, versions.
func normalised(log []string) []string {
	var out []string
	for _, l := range log {
		l = agent.ReplaceAllString(l, "$1 ")
		l = stamps.ReplaceAllString(l, `"TIME"`)
		l = version.ReplaceAllString(l, "VERSION")
		l = made.ReplaceAllString(l, "${1}N")
		l = events.ReplaceAllString(l, ".EVENT")
		out = append(out, l)
	}
	// The clients run side by side: their requests are compared client by client.
	// Those of the informers, which are many reflectors, are compared resource by resource, and those of a client's event
	// recorder, which is a goroutine of its own, apart.
	key := func(l string) string {
		f := strings.Fields(l)
		if f[0] == "shared-informers" {
			return l
		}
		return f[0] + fmt.Sprint(strings.HasSuffix(f[2], "/events"))
	}
	slices.SortStableFunc(out, func(a, b string) int { return strings.Compare(key(a), key(b)) })
	return out
}
