package virtual_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockstep/virtual"
	"lockstep/virtual/fakeapi"
)

// upstreamProgram is a kube-controller-manager-virtual that scripts/fetch virtual has built.
const upstreamProgram = "KUBE_CONTROLLER_MANAGER_VIRTUAL"

// outside starts upstream's program, which ends with this exit code, and is the other end of its socket.
func outside(t testing.TB, exit int) (*virtual.Conn, virtual.Hello) {
	t.Helper()
	path := os.Getenv(upstreamProgram)
	if path == "" {
		t.Skipf("set %s to a program that scripts/fetch virtual has built", upstreamProgram)
	}
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	c := exec.Command(path)
	var stderr bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = theirs, &stderr, &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	t.Cleanup(func() {
		ours.Close()
		if err := c.Wait(); c.ProcessState.ExitCode() != exit {
			t.Errorf("the program ended with %v\n%s", err, stderr.String())
		}
		t.Logf("program: %v user, %v system, %d MB at most", c.ProcessState.UserTime(), c.ProcessState.SystemTime(),
			c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss/1024)
	})
	conn := virtual.NewConn(ours)
	f, err := conn.Receive()
	if err != nil || f.Hello == nil || f.Hello.Protocol != virtual.Protocol {
		t.Fatalf("expected hello, got %+v, %v", f, err)
	}
	return conn, *f.Hello
}

// played is what happened in a case.
type played struct {
	log        []string // less what was asked, whose order is upstream's chance: it discovers groups in parallel
	asks       int
	turns      int
	early      []string // an idle whose next timer had passed
	goroutines int
	failed     string
}

// play plays a case until the time is up.
func play(t testing.TB, conn *virtual.Conn, start virtual.Start, api *fakeapi.Server, d time.Duration) played {
	t.Helper()
	p := playOn(t, conn, start, api, d)
	if p.failed != "" {
		t.Fatal(p.failed)
	}
	return p
}

// playOn plays a case until the time is up or the case fails.
func playOn(t testing.TB, conn *virtual.Conn, start virtual.Start, api *fakeapi.Server, d time.Duration) (p played) {
	t.Helper()
	send := func(f virtual.Frame) {
		if err := conn.Send(f); err != nil {
			t.Fatal(err)
		}
	}
	send(virtual.Frame{Start: &start})
	until := time.Unix(0, start.Now).Add(d)
	var waited int64
	for {
		f, err := conn.Receive()
		switch {
		case err != nil:
			t.Fatal(err)
		case f.Failed != nil:
			p.failed = f.Failed.Message
			return p
		case f.Ask != nil:
			p.asks++
			answer, _ := api.Ask(*f.Ask)
			send(virtual.Frame{Answer: &answer})
			continue
		case f.Done != nil:
			p.goroutines = f.Done.Goroutines
			return p
		}
		for _, q := range f.Idle.Requests {
			if len(q.Bytes) != 0 {
				t.Errorf("a request that is not JSON: %s", line(q))
			}
			p.log = append(p.log, line(q))
		}
		if n := f.Idle.Next; n != 0 && n <= f.Idle.Now {
			p.early = append(p.early, fmt.Sprintf("now %d, next %d", f.Idle.Now, n))
		}
		if len(f.Idle.Requests) > 0 && waited != 0 && f.Idle.Now < waited {
			p.early = append(p.early, fmt.Sprintf("request at %d, before the next timer at %d", f.Idle.Now, waited))
		}
		turn, ok := api.Turn(*f.Idle, until)
		if !ok {
			turn = virtual.Turn{End: &virtual.End{}}
		}
		waited = 0
		if turn.Advance != nil {
			waited = f.Idle.Next
		}
		p.turns++
		send(virtual.Frame{Turn: &turn})
	}
}

var watchTimeouts = regexp.MustCompile(`&timeout=[0-9ms]+|&timeoutSeconds=[0-9]+`)

func line(q virtual.Request) string {
	return fmt.Sprintf("%s %s %s %s%s", q.Client, q.Method, watchTimeouts.ReplaceAllString(q.URI, ""), q.Body, q.Bytes)
}

func deployment(image string) fakeapi.Object {
	labels := fakeapi.Object{"app": "web"}
	return fakeapi.Object{
		"metadata": fakeapi.Object{"name": "web", "namespace": "default"},
		"spec": fakeapi.Object{
			"replicas": 3, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600, "minReadySeconds": 0,
			"selector": fakeapi.Object{"matchLabels": labels},
			"strategy": fakeapi.Object{"type": "RollingUpdate", "rollingUpdate": fakeapi.Object{"maxSurge": "25%", "maxUnavailable": "25%"}},
			"template": fakeapi.Object{"metadata": fakeapi.Object{"labels": labels}, "spec": fakeapi.Object{
				"containers": []any{fakeapi.Object{"name": "web", "image": image}}}},
		},
	}
}

// rollout is a server with a Deployment that is created, rolled at 60 s to an image whose pods never become ready.
func rollout(start time.Time) *fakeapi.Server {
	api := fakeapi.New()
	ready(api, start)
	api.At(start.Add(20*time.Second), func() { api.Create("deployments", deployment("web:1")) })
	api.At(start.Add(60*time.Second), func() {
		d := api.Get("deployments", "default", "web")
		d["spec"] = deployment("web:2")["spec"]
		api.Update("deployments", d, false)
	})
	return api
}

func readyStatus(since time.Time) fakeapi.Object {
	return fakeapi.Object{"phase": "Running", "conditions": []any{
		fakeapi.Object{"type": "Ready", "status": "True", "lastTransitionTime": since.UTC().Format(time.RFC3339)}}}
}

// ready makes each pod ready that runs web:1, as a kubelet would.
func ready(api *fakeapi.Server, start time.Time) {
	api.OnWrite = func(verb, resource string, o fakeapi.Object) {
		if resource != "pods" || verb != "create" {
			return
		}
		spec := o["spec"].(fakeapi.Object)
		if spec["containers"].([]any)[0].(fakeapi.Object)["image"] == "web:1" {
			o["status"] = readyStatus(start)
			api.Update("pods", o, true)
		}
	}
}

func TestUpstreamRollsADeployment(t *testing.T) {
	conn, _ := outside(t, 0)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, controllers := range [][]string{{"deployment"}, {"deployment", "replicaset"}, {"deployment", "replicaset", "garbagecollector"}} {
		t.Run(strings.Join(controllers, "+"), func(t *testing.T) {
			logs := map[[32]byte]int{}
			var p played
			var times []time.Duration
			for i := range 20 {
				api := rollout(now)
				began := time.Now()
				p = play(t, conn, virtual.Start{Now: now.UnixNano(), Controllers: controllers, Seed: 1}, api, 15*time.Minute)
				times = append(times, time.Since(began))
				logs[sha256.Sum256([]byte(strings.Join(p.log, "\n")))]++
				if i == 0 && os.Getenv("SHOW") != "" {
					for _, l := range p.log {
						t.Log(l[:min(len(l), 250)])
					}
				}
				for _, e := range p.early {
					t.Error(e)
				}
				if len(controllers) > 1 {
					if got := len(api.List("pods")); got != 4 {
						t.Errorf("%d pods, expected 3 of the old and 1 of the new", got)
					}
				}
				status := fmt.Sprint(api.Get("deployments", "default", "web")["status"])
				if !strings.Contains(status, "ProgressDeadlineExceeded") {
					t.Errorf("no ProgressDeadlineExceeded in %s", status)
				}
			}
			slices.Sort(times)
			t.Logf("median %v (min %v, max %v), %d turns, %d requests, %d asks, %d goroutines parked, request logs %v",
				times[len(times)/2], times[0], times[len(times)-1], p.turns, len(p.log), p.asks, p.goroutines, slices.Collect(maps.Values(logs)))
		})
	}
}

func TestUpstreamStartsEachCaseAnew(t *testing.T) {
	conn, hello := outside(t, 0)
	play := func(year int, gates map[string]bool) []string {
		start := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		api := rollout(start)
		refused := map[string]bool{}
		api.OnRequest = func(q virtual.Request) *virtual.Response { // each request once: upstream's error handlers are called
			key := q.Method + watchTimeouts.ReplaceAllString(q.URI, "")
			if refused[key] || strings.Count(q.URI, "/") < 4 && q.URI != "/healthz" { // v1.15 gives up without discovery
				return nil
			}
			refused[key] = true
			return fakeapi.Failure(500, "InternalError")
		}
		p := play(t, conn, virtual.Start{Now: start.UnixNano(), Controllers: []string{"deployment", "replicaset"}, Seed: 1, Gates: gates},
			api, 15*time.Minute)
		return p.log
	}
	first := play(2026, nil)
	streaming := func(log []string) bool { return strings.Contains(strings.Join(log, " "), "sendInitialEvents") }
	streams := streaming(first)
	var gates map[string]bool
	var minor int
	if _, err := fmt.Sscanf(hello.Version, "v1.%d.", &minor); err != nil {
		t.Fatal(err)
	}
	if minor >= 30 { // the first with such a gate
		gates = map[string]bool{"WatchListClient": !streams}
	}
	other := play(2031, gates)
	if gates != nil && streams == streaming(other) {
		t.Errorf("the gate does nothing: %s", strings.Join(other, "\n"))
	}
	again := play(2026, nil)
	if !slices.Equal(first, again) {
		t.Errorf("a case differs after another:\n%s\n\n%s", strings.Join(first, "\n"), strings.Join(again, "\n"))
	}
}

func TestUpstreamRefusesAStartThatItDoesNotUnderstand(t *testing.T) {
	conn, _ := outside(t, 0)
	for want, start := range map[string]virtual.Start{
		"NoSuchGate": {Gates: map[string]bool{"NoSuchGate": true}, Controllers: []string{"deployment"}},
		"no-such":    {Flags: []string{"--no-such-flag"}, Controllers: []string{"deployment"}},
		"gardener":   {Controllers: []string{"gardener"}},
	} {
		start.Now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
		if err := conn.Send(virtual.Frame{Start: &start}); err != nil {
			t.Fatal(err)
		}
		if f, err := conn.Receive(); err != nil || f.Failed == nil || !strings.Contains(f.Failed.Message, want) {
			t.Errorf("%s: got %+v, %v", want, f, err)
		}
	}
}

func BenchmarkUpstream(b *testing.B) {
	for _, controllers := range [][]string{{"deployment"}, {"deployment", "replicaset"}, {"deployment", "replicaset", "garbagecollector"}} {
		b.Run(strings.Join(controllers, "+"), func(b *testing.B) {
			conn, _ := outside(b, 0)
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			logs := map[[32]byte]bool{}
			parked := 0
			for b.Loop() {
				p := play(b, conn, virtual.Start{Now: now.UnixNano(), Controllers: controllers, Seed: 1}, rollout(now), 15*time.Minute)
				logs[sha256.Sum256([]byte(strings.Join(p.log, "\n")))] = true
				parked += p.goroutines
			}
			b.ReportMetric(float64(len(logs)), "logs")
			b.ReportMetric(float64(parked)/float64(b.N), "parked/op")
		})
	}
}

// As upstream: a controller that panics ends its process. The outside learns why.
func TestUpstreamEndsWithAPanic(t *testing.T) {
	conn, _ := outside(t, 2)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	api := fakeapi.New()
	api.At(now.Add(time.Second), func() {
		d := deployment("web:1")
		delete(d["spec"].(fakeapi.Object), "replicas") // which every real server defaults
		api.Create("deployments", d)
	})
	start := virtual.Start{Now: now.UnixNano(), Controllers: []string{"deployment"}}
	if got := playOn(t, conn, start, api, time.Minute).failed; !strings.Contains(got, "a controller panicked: runtime error: invalid memory address") {
		t.Error(got)
	}
}
