package fakeapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lockstep/virtual"
	"lockstep/virtual/fakeapi"
)

// do sends requests one after the other, in a goroutine, and returns what they were answered.
func do(n *virtual.Network, requests ...string) <-chan []string {
	out := make(chan []string, 1)
	go func() {
		var answers []string
		for _, line := range requests {
			method, rest, _ := strings.Cut(line, " ")
			uri, body, _ := strings.Cut(rest, " ")
			r, err := http.NewRequest(method, "http://virtual"+uri, bytes.NewReader([]byte(body)))
			if err != nil {
				panic(err)
			}
			answer, err := n.RoundTrip(r)
			if err != nil {
				panic(err)
			}
			b, _ := io.ReadAll(answer.Body)
			var o fakeapi.Object
			_ = json.Unmarshal(b, &o)
			answers = append(answers, fmt.Sprint(answer.StatusCode, " ", o["kind"], " ", o["reason"], " ", fakeapi.Meta(o)["generation"]))
		}
		out <- answers
	}()
	return out
}

func TestObjectsAreStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.New()
		n := virtual.NewNetwork(api.Ask)
		defer n.Close()
		const one = "/apis/apps/v1/namespaces/default/deployments/web"
		out := do(n,
			"GET "+one,
			`POST /apis/apps/v1/namespaces/default/deployments {"metadata":{"name":"web"},"spec":{"replicas":1}}`,
			`POST /apis/apps/v1/namespaces/default/deployments {"metadata":{"name":"web"}}`,
			"GET "+one,
			`PATCH `+one+` {"spec":{"replicas":2}}`,
			`PATCH `+one+`/status {"status":{"replicas":2}}`,
			`PUT `+one+` {"metadata":{"name":"web","namespace":"default","resourceVersion":"1"}}`,
			`PATCH `+one+` {"metadata":{"finalizers":["x/y"]}}`,
			"DELETE "+one,
			"GET "+one,
			`PATCH `+one+` {"metadata":{"finalizers":null}}`,
			"GET "+one,
			"GET /apis/apps/v1/namespaces/default/deployments",
			"GET /apis/batch/v1/jobs",
			"GET /apis/apps/v1",
			"PUT "+one+" not JSON",
		)
		api.Run(n, time.Minute)
		want := []string{
			"404 Status NotFound <nil>", "201 Deployment <nil> 1", "409 Status AlreadyExists <nil>", "200 Deployment <nil> 1",
			"200 Deployment <nil> 2", "200 Deployment <nil> 2", "409 Status Conflict <nil>", "200 Deployment <nil> 2",
			"200 Deployment <nil> 2", "200 Deployment <nil> 2", "200 Deployment <nil> 2", "404 Status NotFound <nil>",
			"200 DeploymentList <nil> <nil>", "404 Status NotFound <nil>", "200 APIResourceList <nil> <nil>",
			"415 Status UnsupportedMediaType <nil>",
		}
		got := <-out
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("request %d: got %s, expected %s", i, got[i], want[i])
			}
		}
	})
}

// Names of events are nanoseconds: two in one instant would collide.
func TestTimePassesBeforeEachAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.New()
		n := virtual.NewNetwork(api.Ask)
		defer n.Close()
		start := time.Now()
		var at []time.Duration
		api.OnRequest = func(virtual.Request) *virtual.Response {
			at = append(at, time.Since(start).Round(time.Microsecond))
			return nil
		}
		do(n, "GET /healthz", "GET /healthz", "GET /healthz")
		api.Run(n, time.Minute)
		if fmt.Sprint(at) != "[500µs 1.5ms 2.5ms]" {
			t.Errorf("answered half a millisecond after %v", at)
		}
	})
}

func TestWhatIsPlannedHappensInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.New()
		n := virtual.NewNetwork(api.Ask)
		defer n.Close()
		start := time.Now()
		var got []string
		plan := func(after time.Duration, what string) {
			api.At(start.Add(after), func() { got = append(got, fmt.Sprint(what, time.Since(start))) })
		}
		plan(3*time.Second, "c")
		plan(time.Second, "a")
		plan(3*time.Second, "d")
		plan(2*time.Second, "b")
		api.Run(n, time.Minute)
		if want := "[a1s b2s c3s d3s]"; fmt.Sprint(got) != want {
			t.Errorf("got %v, expected %s", got, want)
		}
	})
}
