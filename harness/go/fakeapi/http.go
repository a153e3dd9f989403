package fakeapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"lockstep/virtual"
)

// Ask answers a request that must be answered at once: discovery. It has the form that [virtual.NewNetwork] takes.
func (s *Server) Ask(q virtual.Request) (virtual.Answer, error) {
	return virtual.Answer{Response: s.Handle(q)}, nil
}

// Handle answers one request; what it causes is queued for the watches.
func (s *Server) Handle(q virtual.Request) virtual.Response {
	if s.OnRequest != nil {
		if r := s.OnRequest(q); r != nil {
			r.ID = q.ID
			return *r
		}
	}
	u, err := url.Parse(q.URI)
	if err != nil {
		return failure(q, http.StatusBadRequest, "BadRequest")
	}
	if o := s.discovery(u.Path); o != nil {
		return success(q, http.StatusOK, o)
	}
	at, ok := s.locate(u.Path)
	if !ok {
		return failure(q, http.StatusNotFound, "NotFound")
	}
	metadata := strings.Contains(q.Accept, "PartialObjectMetadata")
	var body Object
	if q.Method != http.MethodDelete && len(q.Bytes) > 0 || len(q.Body) > 0 && json.Unmarshal(q.Body, &body) != nil {
		return failure(q, http.StatusUnsupportedMediaType, "UnsupportedMediaType")
	}
	var o Object
	code := http.StatusOK
	switch {
	case q.Method == http.MethodGet && at.name == "":
		if u.Query().Get("watch") != "" {
			return s.watch(q, at, metadata, u.Query().Get("sendInitialEvents") == "true")
		}
		return success(q, code, s.list(at, metadata))
	case q.Method == http.MethodGet:
		if o = s.Get(at.resource.Name, at.namespace, at.name); o == nil {
			code = http.StatusNotFound
		}
	case q.Method == http.MethodPost:
		if at.namespace != "" {
			Meta(body)["namespace"] = at.namespace
		}
		if o, code = s.Create(at.resource.Name, body); code == http.StatusConflict {
			return failure(q, code, "AlreadyExists")
		}
	case q.Method == http.MethodPut:
		o, code = s.Update(at.resource.Name, body, at.subresource == "status")
	case q.Method == http.MethodPatch:
		if o = s.Get(at.resource.Name, at.namespace, at.name); o == nil {
			code = http.StatusNotFound
			break
		}
		merge(o, body)
		o, code = s.Update(at.resource.Name, o, at.subresource == "status")
	case q.Method == http.MethodDelete:
		o, code = s.Delete(at.resource.Name, at.namespace, at.name)
	default:
		return failure(q, http.StatusMethodNotAllowed, "MethodNotAllowed")
	}
	switch code {
	case http.StatusNotFound:
		return failure(q, code, "NotFound")
	case http.StatusConflict:
		return failure(q, code, "Conflict")
	}
	return success(q, code, view(o, metadata))
}

type place struct {
	resource                     Resource
	namespace, name, subresource string
}

func (s *Server) locate(path string) (at place, ok bool) {
	p := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case p[0] == "api" && len(p) > 2:
		at.resource.GroupVersion, p = p[1], p[2:]
	case p[0] == "apis" && len(p) > 3:
		at.resource.GroupVersion, p = p[1]+"/"+p[2], p[3:]
	default:
		return at, false
	}
	if p[0] == "namespaces" && len(p) > 2 {
		at.namespace, p = p[1], p[2:]
	}
	p = append(p, "", "")
	at.name, at.subresource = p[1], p[2]
	for _, r := range s.resources {
		if r.Name == p[0] && r.GroupVersion == at.resource.GroupVersion {
			at.resource = r
			return at, true
		}
	}
	return at, false
}

func (s *Server) list(at place, metadata bool) Object {
	items := []any{}
	for _, o := range s.List(at.resource.Name) {
		if at.namespace == "" || Meta(o)["namespace"] == at.namespace {
			items = append(items, view(o, metadata))
		}
	}
	l := Object{"apiVersion": at.resource.GroupVersion, "kind": at.resource.Kind + "List", "items": items,
		"metadata": Object{"resourceVersion": strconv.Itoa(s.version)}}
	if metadata {
		l["apiVersion"], l["kind"] = "meta.k8s.io/v1", "PartialObjectMetadataList"
	}
	return l
}

func (s *Server) discovery(path string) Object {
	verbs := []any{"create", "delete", "get", "list", "patch", "update", "watch"}
	switch path {
	case "/healthz":
		return Object{"status": "ok"}
	case "/version":
		return Object{"major": "1", "minor": "0", "gitVersion": "v1.0.0-fakeapi"}
	case "/api":
		return Object{"kind": "APIVersions", "versions": []any{"v1"}}
	case "/apis":
		var groups []any
		seen := map[string]bool{}
		for _, r := range s.resources {
			group, version, ok := strings.Cut(r.GroupVersion, "/")
			if !ok || seen[r.GroupVersion] {
				continue
			}
			seen[r.GroupVersion] = true
			v := Object{"groupVersion": r.GroupVersion, "version": version}
			groups = append(groups, Object{"name": group, "versions": []any{v}, "preferredVersion": v})
		}
		return Object{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
	}
	version, ok := strings.CutPrefix(path, "/api/")
	if !ok {
		if version, ok = strings.CutPrefix(path, "/apis/"); !ok {
			return nil
		}
	}
	var list []any
	for _, r := range s.resources {
		if r.GroupVersion == version {
			list = append(list, Object{"name": r.Name, "singularName": strings.ToLower(r.Kind), "namespaced": !r.Cluster,
				"kind": r.Kind, "verbs": verbs})
		}
	}
	if list == nil {
		return nil
	}
	return Object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": list}
}

func view(o Object, metadata bool) Object {
	if !metadata {
		return o
	}
	return Object{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": o["metadata"]}
}

func success(q virtual.Request, code int, o Object) virtual.Response {
	return virtual.Response{ID: q.ID, Code: code, Body: encoded(o)}
}

// Failure is an answer with a Status, for OnRequest: an HTTP code and a reason such as Conflict.
func Failure(code int, reason string) *virtual.Response {
	r := failure(virtual.Request{}, code, reason)
	return &r
}

func failure(q virtual.Request, code int, reason string) virtual.Response {
	return success(q, code, Object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
		"reason": reason, "message": q.Method + " " + q.URI})
}

func merge(into, patch Object) {
	for name, value := range patch {
		if strings.HasPrefix(name, "$") {
			continue // a directive of strategic merge patches
		}
		inner, isObject := value.(Object)
		old, wasObject := into[name].(Object)
		switch {
		case value == nil:
			delete(into, name)
		case isObject && wasObject:
			merge(old, inner)
		default:
			into[name] = value
		}
	}
}
