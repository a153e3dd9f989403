package fakeapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"lockstep/virtual"
)

// Object is an API object as JSON decodes it.
type Object = map[string]any

// Resource is one kind of objects.
type Resource struct {
	GroupVersion string // v1, apps/v1
	Name         string // deployments
	Kind         string // Deployment
	Cluster      bool   // not namespaced
}

// Resources are those of a Server that is made without others.
var Resources = []Resource{
	{GroupVersion: "v1", Name: "configmaps", Kind: "ConfigMap"},
	{GroupVersion: "v1", Name: "events", Kind: "Event"},
	{GroupVersion: "v1", Name: "namespaces", Kind: "Namespace", Cluster: true},
	{GroupVersion: "v1", Name: "pods", Kind: "Pod"},
	{GroupVersion: "apps/v1", Name: "deployments", Kind: "Deployment"},
	{GroupVersion: "apps/v1", Name: "replicasets", Kind: "ReplicaSet"},
}

// Server holds the objects. It is used from one goroutine at a time.
type Server struct {
	// Latency is the time between a request and its answer: a millisecond, unless it is set.
	Latency func(virtual.Request) time.Duration
	// OnRequest, if set, sees each request before the server does; what it returns, if not nil, is the answer.
	OnRequest func(virtual.Request) *virtual.Response
	// OnWrite, if set, is called after each write: a place for what a scheduler, a kubelet or a user would do.
	OnWrite func(verb, resource string, o Object)

	now       time.Time
	version   int
	made      int
	resources []Resource
	objects   map[string]map[string]Object // by resource, then by namespace/name
	turns     turns
}

// New makes a server of these resources, of Resources if there are none.
func New(resources ...Resource) *Server {
	if len(resources) == 0 {
		resources = Resources
	}
	latency := func(virtual.Request) time.Duration { return time.Millisecond }
	return &Server{Latency: latency, version: 100, resources: resources, objects: map[string]map[string]Object{}}
}

// Meta returns an object's metadata, which it makes if there is none.
func Meta(o Object) Object {
	m, _ := o["metadata"].(Object)
	if m == nil {
		m = Object{}
		o["metadata"] = m
	}
	return m
}

// Get returns a copy of an object, nil if there is none. The namespace is empty for a resource of the cluster.
func (s *Server) Get(resource, namespace, name string) Object {
	return copied(s.objects[resource][namespace+"/"+name])
}

// List returns copies of all objects of a resource, sorted by namespace and name.
func (s *Server) List(resource string) []Object {
	var list []Object
	for _, key := range slices.Sorted(maps.Keys(s.objects[resource])) {
		list = append(list, copied(s.objects[resource][key]))
	}
	return list
}

// Create stores a new object; the code is the HTTP status.
func (s *Server) Create(resource string, o Object) (created Object, code int) {
	r, ok := s.resource(resource)
	if !ok {
		return nil, 404
	}
	o = copied(o)
	o["apiVersion"], o["kind"] = r.GroupVersion, r.Kind
	m := Meta(o)
	s.made++
	if name, _ := m["name"].(string); name == "" {
		m["name"] = fmt.Sprintf("%v%05d", m["generateName"], s.made)
	}
	if m["namespace"] == nil && !r.Cluster {
		m["namespace"] = "default"
	}
	if s.objects[resource][key(o)] != nil {
		return nil, 409
	}
	m["uid"] = fmt.Sprintf("00000000-0000-0000-0000-%012d", s.made)
	m["creationTimestamp"] = s.now.UTC().Format(time.RFC3339)
	m["generation"] = 1.0
	return s.put("create", "ADDED", resource, o), 201
}

// Update replaces an object, or only its status; the code is the HTTP status.
func (s *Server) Update(resource string, o Object, status bool) (updated Object, code int) {
	old := s.objects[resource][key(o)]
	if old == nil {
		return nil, 404
	}
	if v, _ := Meta(o)["resourceVersion"].(string); v != "" && v != Meta(old)["resourceVersion"] {
		return nil, 409
	}
	next := copied(o)
	if status {
		next = copied(old)
		next["status"] = copied(o)["status"]
	} else if s, ok := old["status"]; ok {
		next["status"] = s
	}
	next["apiVersion"], next["kind"] = old["apiVersion"], old["kind"]
	for _, field := range []string{"uid", "creationTimestamp", "generation", "deletionTimestamp", "resourceVersion"} {
		if v, ok := Meta(old)[field]; ok {
			Meta(next)[field] = v
		}
	}
	if reflect.DeepEqual(copied(next), old) {
		return copied(old), 200
	}
	if !reflect.DeepEqual(copied(next)["spec"], old["spec"]) {
		generation, _ := Meta(old)["generation"].(float64)
		Meta(next)["generation"] = generation + 1
	}
	if Meta(next)["deletionTimestamp"] != nil && !finalized(next) {
		return s.remove(resource, next), 200
	}
	return s.put("update", "MODIFIED", resource, next), 200
}

// Delete removes an object, or marks it if it has finalizers; the code is the HTTP status.
func (s *Server) Delete(resource, namespace, name string) (deleted Object, code int) {
	o := copied(s.objects[resource][namespace+"/"+name])
	if o == nil {
		return nil, 404
	}
	if finalized(o) {
		Meta(o)["deletionTimestamp"] = s.now.UTC().Format(time.RFC3339)
		return s.put("delete", "MODIFIED", resource, o), 200
	}
	return s.remove(resource, o), 200
}

func (s *Server) put(verb, event, resource string, o Object) Object {
	s.version++
	Meta(o)["resourceVersion"] = strconv.Itoa(s.version)
	o = copied(o)
	if s.objects[resource] == nil {
		s.objects[resource] = map[string]Object{}
	}
	s.objects[resource][key(o)] = o
	s.turns.emit(resource, event, o)
	if s.OnWrite != nil {
		s.OnWrite(verb, resource, copied(o))
	}
	return copied(o)
}

func (s *Server) remove(resource string, o Object) Object {
	s.version++
	Meta(o)["resourceVersion"] = strconv.Itoa(s.version)
	delete(s.objects[resource], key(o))
	s.turns.emit(resource, "DELETED", o)
	if s.OnWrite != nil {
		s.OnWrite("delete", resource, copied(o))
	}
	return copied(o)
}

func (s *Server) resource(name string) (Resource, bool) {
	i := slices.IndexFunc(s.resources, func(r Resource) bool { return r.Name == name })
	if i < 0 {
		return Resource{}, false
	}
	return s.resources[i], true
}

func key(o Object) string {
	namespace, _ := Meta(o)["namespace"].(string)
	name, _ := Meta(o)["name"].(string)
	return namespace + "/" + name
}

func finalized(o Object) bool {
	f, _ := Meta(o)["finalizers"].([]any)
	return len(f) > 0
}

// copied also makes numbers and maps those that JSON decodes to, so that objects compare equal.
func copied(o Object) Object {
	if o == nil {
		return nil
	}
	var c Object
	if err := json.Unmarshal(encoded(o), &c); err != nil {
		panic(err) // what was encoded a moment ago decodes
	}
	return c
}

func encoded(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("an object that is not JSON: %v", err))
	}
	return b
}
