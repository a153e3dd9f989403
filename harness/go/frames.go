package virtual

import "encoding/json"

// Protocol is the version of the turn protocol that this package speaks.
const Protocol = 1

// Frame is one message of the turn protocol; exactly one field is set.
type Frame struct {
	Hello  *Hello   `json:"hello,omitempty"`
	Idle   *Idle    `json:"idle,omitempty"`
	Ask    *Request `json:"ask,omitempty"`
	Done   *Done    `json:"done,omitempty"`
	Failed *Failed  `json:"failed,omitempty"`
	Start  *Start   `json:"start,omitempty"`
	Turn   *Turn    `json:"turn,omitempty"`
	Answer *Answer  `json:"answer,omitempty"`
}

// Hello introduces the program that runs the controllers.
type Hello struct {
	Protocol    int      `json:"protocol"`
	Program     string   `json:"program"`
	Version     string   `json:"version"`
	Go          string   `json:"go"`
	Controllers []string `json:"controllers"`
	// Features are what the program understands beyond the first version of its protocol.
	Features []string `json:"features,omitempty"`
}

// FeatureAfter is the feature of a program that reads [Turn].After.
const FeatureAfter = "after"

// Idle reports that every goroutine waits, and what has happened since the last Idle.
type Idle struct {
	// Now is the bubble's time in nanoseconds since 1970.
	Now int64 `json:"now"`
	// Next is an instant before which no timer fires; 0 if there is no timer or none can be told.
	Next int64 `json:"next,omitempty"`
	// Requests were made since the last Idle, sorted by client, method, URI and body.
	Requests []Request `json:"requests,omitempty"`
	// Cancelled are requests reported earlier whose caller gave up.
	Cancelled []int `json:"cancelled,omitempty"`
	// Closed are watches that the client closed before they were ended.
	Closed []int `json:"closed,omitempty"`
	// Early says that the turn's After ended before its time, so that its stimulus was not played.
	Early bool `json:"early,omitempty"`
	// Fired counts how often the turn's After let timers fire, if it ended early.
	Fired int `json:"fired,omitempty"`
}

// Request is one HTTP request of a controller.
type Request struct {
	ID          int             `json:"id"`
	Client      string          `json:"client"`
	Method      string          `json:"method"`
	URI         string          `json:"uri"`
	ContentType string          `json:"contentType,omitempty"`
	Accept      string          `json:"accept,omitempty"`
	Body        json.RawMessage `json:"body,omitempty"`
	// Bytes is the body where it is not JSON.
	Bytes []byte `json:"bytes,omitempty"`
}

// Done ends a case.
type Done struct {
	// Goroutines counts what the case has left parked in this process for good.
	Goroutines int `json:"goroutines"`
}

// Failed says why a case cannot go on.
type Failed struct {
	Message string `json:"message"`
}

// Start begins a case.
type Start struct {
	Now         int64           `json:"now"`
	Controllers []string        `json:"controllers"`
	Seed        int64           `json:"seed"`
	Verbosity   *int            `json:"verbosity,omitempty"`
	Gates       map[string]bool `json:"gates,omitempty"`
	Flags       []string        `json:"flags,omitempty"`
}

// Turn is one stimulus; exactly one field besides After is set.
type Turn struct {
	// After is what comes before a response, a failure, a chunk or an EOF.
	After    *After    `json:"after,omitempty"`
	Response *Response `json:"response,omitempty"`
	Fail     *Fail     `json:"fail,omitempty"`
	Chunk    *Chunk    `json:"chunk,omitempty"`
	EOF      *EOF      `json:"eof,omitempty"`
	Advance  *Advance  `json:"advance,omitempty"`
	End      *End      `json:"end,omitempty"`
}

// Response answers a request.
type Response struct {
	ID          int               `json:"id"`
	Code        int               `json:"code"`
	ContentType string            `json:"contentType,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
	Body        json.RawMessage   `json:"body,omitempty"`
	// Bytes is the body where it is not JSON.
	Bytes []byte `json:"bytes,omitempty"`
	// Stream keeps the body open for chunks: a watch.
	Stream bool `json:"stream,omitempty"`
}

// Fail is a transport error in place of an answer, or the end of a watch by one.
type Fail struct {
	ID      int    `json:"id"`
	Message string `json:"message"`
	// Kind is reset, refused, eof or timeout; reset if empty.
	Kind string `json:"kind,omitempty"`
}

// Chunk is one watch event: Data, or Bytes where it is not JSON.
type Chunk struct {
	ID   int             `json:"id"`
	Data json.RawMessage `json:"data,omitempty"`
	// Bytes is a part of the body as it is.
	Bytes []byte `json:"bytes,omitempty"`
}

// EOF ends a watch in order.
type EOF struct {
	ID int `json:"id"`
}

// After lets time pass before a stimulus. If the program makes a request, gives one up or closes a watch meanwhile, the
// stimulus is not played: the outside may choose another.
type After struct {
	Until int64 `json:"until"`
	// Timers bounds how often timers that are due by then, or a nanosecond later, are let fire first: the stimulus
	// comes a nanosecond later, and would else be played at the instant at which they fire.
	Timers int `json:"timers,omitempty"`
}

// Advance lets time pass.
type Advance struct {
	Until int64 `json:"until"`
}

// End ends the case.
type End struct{}

// Answer is the response to a request that must be answered at once.
type Answer struct {
	Response
	// Fail, if not empty, is a transport error in place of the response.
	Fail string `json:"fail,omitempty"`
}
