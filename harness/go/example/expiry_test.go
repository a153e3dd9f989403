package expiry_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"lockstep/virtual"
	"lockstep/virtual/example"
	"lockstep/virtual/fakeapi"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func init() { log.SetLogger(logr.Discard()) }

// inBubble starts the manager in a bubble of its own, calls f, and ends the manager.
func inBubble(t *testing.T, f func(api *fakeapi.Server, network *virtual.Network)) {
	synctest.Test(t, func(t *testing.T) {
		virtual.Epoch(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		virtual.FreshErrorLimit(utilruntime.ErrorHandlers)
		api := fakeapi.New()
		network := virtual.NewNetwork(api.Ask)
		stop := start(t, network)
		f(api, network)
		network.Close() // first: some requests have a context that is never cancelled
		stop()
	})
}

// start starts a manager as main would, but for what would leave the bubble: no metrics and no health probes.
func start(t *testing.T, network *virtual.Network) (stop func()) {
	json := rest.ContentConfig{ContentType: "application/json"} // the server reads no protobuf
	manager, err := ctrl.NewManager(&rest.Config{Host: "http://virtual", Transport: network, ContentConfig: json}, ctrl.Options{
		Metrics:                metrics.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		Controller:             config.Controller{SkipNameValidation: new(true)}, // one name in many bubbles
	})
	if err != nil {
		t.Fatal(err)
	}
	reconciler := &expiry.Reconciler{Client: manager.GetClient()}
	if err := reconciler.SetupWithManager(manager); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func configMap(name, ttl string) fakeapi.Object {
	return fakeapi.Object{"metadata": fakeapi.Object{"name": name, "annotations": fakeapi.Object{expiry.TTL: ttl}}}
}

func names(api *fakeapi.Server) []string {
	var names []string
	for _, o := range api.List("configmaps") {
		names = append(names, fakeapi.Meta(o)["name"].(string))
	}
	return names
}

func TestExpiredConfigMapsAreDeletedOnTime(t *testing.T) {
	inBubble(t, func(api *fakeapi.Server, network *virtual.Network) {
		created := time.Now().Add(time.Minute)
		api.At(created, func() {
			api.Create("configmaps", configMap("hours", "36h"))
			api.Create("configmaps", configMap("weeks", "336h"))
			api.Create("configmaps", configMap("for-ever", "soon"))
		})
		for _, c := range []struct {
			name string
			ttl  time.Duration
		}{{"hours", 36 * time.Hour}, {"weeks", 336 * time.Hour}} {
			gone := func() bool { return time.Now().After(created) && !slices.Contains(names(api), c.name) }
			if api.RunUntil(network, 1000*time.Hour, gone); time.Since(created).Round(time.Second) != c.ttl {
				t.Errorf("%s: gone or given up after %v, left: %v", c.name, time.Since(created), names(api))
			}
		}
		if got := names(api); !slices.Equal(got, []string{"for-ever"}) {
			t.Errorf("left: %v", got)
		}
	})
}

func TestADeleteThatFailsIsRetriedWithBackOff(t *testing.T) {
	inBubble(t, func(api *fakeapi.Server, network *virtual.Network) {
		var at []time.Time
		api.OnRequest = func(q virtual.Request) *virtual.Response {
			if q.Method != "DELETE" {
				return nil
			}
			if at = append(at, time.Now()); len(at) > 8 {
				return nil
			}
			return fakeapi.Failure(500, "InternalError")
		}
		api.At(time.Now().Add(time.Minute), func() { api.Create("configmaps", configMap("minute", "1m")) })
		api.Run(network, time.Hour)
		if len(at) != 9 || len(names(api)) != 0 {
			t.Fatalf("%d deletes, left: %v", len(at), names(api))
		}
		for i := 2; i < len(at); i++ {
			if before, now := at[i-1].Sub(at[i-2]), at[i].Sub(at[i-1]); now < before*3/2 {
				t.Errorf("retry %d came %v after the one before, which came after %v", i, now, before)
			}
		}
	})
}

func TestWatchesThatBreakAreOpenedAgain(t *testing.T) {
	inBubble(t, func(api *fakeapi.Server, network *virtual.Network) {
		for i := range 10 {
			api.At(time.Now().Add(time.Duration(i)*time.Hour+time.Minute), api.BreakWatches)
		}
		api.At(time.Now().Add(11*time.Hour), func() { api.Create("configmaps", configMap("late", "1h")) })
		api.Run(network, 13*time.Hour)
		if got := names(api); got != nil {
			t.Errorf("left: %v", got)
		}
	})
}
