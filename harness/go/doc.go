// Package virtual runs a Kubernetes controller in virtual time, unmodified.
//
// The controller runs inside a [testing/synctest] bubble: its timers, back-offs and rate limiters use the bubble's
// clock, and that clock moves only when every goroutine waits. [Network] is an [http.RoundTripper] that takes the
// network's place, so a request is not sent: it waits until the code that owns the API server (the outside) answers
// it. An hour of a controller's life takes milliseconds, and one stimulus at a time makes the order of its requests
// reproducible.
//
// # In a test of your own
//
// Inside a bubble, give a Network to the client as its Transport, start the controller, and then alternate between
// [Network.Idle], which returns what the controller asks for once all of it waits, and [Network.Play], which
// delivers one answer, one watch event, one failure or an amount of time. Package fakeapi has an API server in memory
// that does this for you:
//
//	synctest.Test(t, func(t *testing.T) {
//		api := fakeapi.New()
//		network := virtual.NewNetwork(api.Ask)
//		config := &rest.Config{Host: "http://virtual", Transport: network}
//		… start the controller with config and a context …
//		api.Create("apps/v1", "deployments", …)
//		api.Run(network, 10*time.Minute)
//		… look at api …
//		network.Close()
//		… cancel the context, wait for the controller …
//	})
//
// # In a program of its own
//
// [Program] serves the turn protocol of PROTOCOL.md on a socket, one bubble a case; the outside is then another
// process. Lockstep runs upstream's kube-controller-manager this way.
//
// # Limits
//
// A goroutine that waits for something outside the bubble counts as running, so the bubble never becomes idle while
// it waits. That is so for sockets, pipes and files, for cgo calls, for system calls, for channels made outside the
// bubble (in a package variable, for example), and for mutexes. A mutex that is held across a request therefore
// blocks whoever waits for it, and the bubble with it: see [Discovery] for the known case. Several controllers in
// one bubble share one clock; package variables outlive the bubble, and a timer or channel in one of them must not.
package virtual
