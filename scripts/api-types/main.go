// Prints the types of the Kubernetes API that kube-apimachinery has, one field a line: its JSON
// name, its Go type, whether it is omitted when empty, its number in protobuf, and how a strategic
// merge patch and server-side apply treat it. The libraries that declare the types are the only
// source. The kinds are read from the files that declare them, in harness/apiserver/src/registry; their
// Go types come from client-go's scheme.
//
// `pb=3` is the field's number; `pb=2/3` is field 3 of a message that is field 2, where Go embeds a
// struct that JSON flattens, or has a list that is a message of its own. `list=` and `map=` are what
// OpenAPI calls x-kubernetes-list-type and x-kubernetes-map-type; a list's keys follow a colon.
// `default=` is a scalar's default, as JSON.
// `required` and `enum=` are what OpenAPI calls them. `named=` is the Go type of a string, or of the
// strings of a list. After a type's name stands its package, as the
// names of OpenAPI have it: `io.k8s.api.` and this, or `io.k8s.apimachinery.pkg.apis.` and this.
// A type whose name another one has too carries its group before it, `events.Event`, or its group and
// its version.
//
//	cd scripts/api-types && go run . > ../../harness/apiserver/apimachinery/src/types/v1.36.table
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	_ "k8s.io/client-go/applyconfigurations"
)

// others are the types that are not those of a served kind.
var others = []any{
	appsv1.ControllerRevision{}, autoscalingv1.Scale{}, corev1.Binding{}, policyv1.Eviction{},
	metav1.DeleteOptions{}, metav1.Status{}, metav1.ListMeta{}, metav1.PartialObjectMetadata{}, metav1.WatchEvent{},
	metav1.APIVersions{}, metav1.APIGroupList{}, metav1.APIGroup{}, metav1.APIResourceList{}, apidiscoveryv2.APIGroupDiscoveryList{},
	authorizationv1.SelfSubjectAccessReview{}, authorizationv1.SelfSubjectRulesReview{},
	// These stand in annotations only.
	autoscalingv1.MetricSpec{}, autoscalingv1.MetricStatus{}, autoscalingv1.HorizontalPodAutoscalerCondition{},
}

// registry has a file for each served kind.
const registry = "../../harness/apiserver/src/registry"

// declared is a kind as its file declares it: group, version, plural and kind.
var declared = regexp.MustCompile(`\bkind\(\s*"([^"]*)",\s*"([^"]*)",\s*"[^"]*",\s*"([^"]*)",?\s*\)`)

// served are the types of the served kinds.
func served() []reflect.Type {
	check(apiextensionsv1.AddToScheme(scheme.Scheme))
	files, err := filepath.Glob(filepath.Join(registry, "*", "*.rs"))
	check(err)
	var types []reflect.Type
	for _, file := range files {
		source, err := os.ReadFile(file)
		check(err)
		for _, found := range declared.FindAllStringSubmatch(string(source), -1) {
			kind := runtimeschema.GroupVersionKind{Group: found[1], Version: found[2], Kind: found[3]}
			object, err := scheme.Scheme.New(kind)
			check(err)
			types = append(types, reflect.TypeOf(object).Elem())
		}
	}
	return types
}

// Types whose JSON is not their fields'.
var scalars = map[string]bool{
	"resource.Quantity": true, "intstr.IntOrString": true, "v1.Time": true, "v1.MicroTime": true, "v1.FieldsV1": true, "v1.Duration": true,
	"runtime.RawExtension": true, "v1.JSON": true,
}

var seen = map[reflect.Type][]string{}

func name(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + name(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[]" + name(t.Elem())
	case reflect.Map:
		return "map:" + name(t.Elem())
	case reflect.Struct:
		if scalars[t.String()] {
			return strings.ToLower(t.Name())
		}
		// A schema, or something that is no object.
		if other, found := strings.CutPrefix(t.Name(), "JSONSchemaPropsOr"); found {
			return "schemaor" + strings.ToLower(other)
		}
		visit(t)
		return called(t)
	default:
		return t.Kind().String()
	}
}

// called is a type's name in the table. events.k8s.io and core have two types of the same names, and
// so have the two versions of autoscaling; scales are in the first one alone.
func called(t reflect.Type) string {
	switch {
	case t.PkgPath() == "k8s.io/api/events/v1":
		return "events." + t.Name()
	case t.PkgPath() == "k8s.io/api/autoscaling/v1" && !strings.HasPrefix(t.Name(), "Scale"):
		return "autoscaling.v1." + t.Name()
	}
	return t.Name()
}

// outside stands for the fields that are not in an object's message, but beside it.
const outside = "-"

// fields prints the fields of a struct; `below` is the number in protobuf of the field that it is.
func fields(t reflect.Type, below string) []string {
	var lines []string
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && (tag == "" || strings.Contains(options, "inline")) {
			inner := below
			if number := number(f); number != "" {
				inner += number + "/"
			}
			if f.Type == reflect.TypeOf(metav1.TypeMeta{}) {
				inner = outside
			}
			holders[f.Type] = append(holders[f.Type], t)
			lines = append(lines, fields(f.Type, inner)...)
			continue
		}
		if tag == "" || tag == "-" {
			continue
		}
		line := fmt.Sprintf("  %s %s", tag, name(f.Type))
		if strings.Contains(options, "omitempty") {
			line += " omitempty"
		}
		if strings.Contains(options, "omitzero") {
			line += " omitzero"
		}
		if strategy := f.Tag.Get("patchStrategy"); strategy != "" {
			line += " patch=" + strategy
		}
		if key := f.Tag.Get("patchMergeKey"); key != "" {
			line += " key=" + key
		}
		if number := number(f); number != "" && below != outside {
			line += " pb=" + below + number
			if f.Type == reflect.TypeOf(metav1.Verbs{}) {
				line += "/1"
			}
		}
		line += merging(t, tag)
		if required(t, f) {
			line += " required"
		}
		if values := enum(f.Type); values != "" {
			line += " enum=" + values
		}
		if named := namedString(f.Type); named != "" {
			line += " named=" + named
		}
		lines = append(lines, line)
	}
	return lines
}

// number is a field's number in protobuf, from its struct tag.
func number(f reflect.StructField) string {
	parts := strings.Split(f.Tag.Get("protobuf"), ",")
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}

// schemaType is a type as the schema of server-side apply has it.
type schemaType struct {
	Name string      `json:"name"`
	Map  *schemaAtom `json:"map"`
}

type schemaAtom struct {
	Fields []struct {
		Name    string           `json:"name"`
		Type    schemaRef        `json:"type"`
		Default *json.RawMessage `json:"default"`
	} `json:"fields"`
	ElementRelationship string   `json:"elementRelationship"`
	Keys                []string `json:"keys"`
}

type schemaRef struct {
	ElementRelationship string      `json:"elementRelationship"`
	List                *schemaAtom `json:"list"`
	Map                 *schemaAtom `json:"map"`
}

var schema = map[string]schemaType{}

// readSchema reads the schema that client-go's apply configurations hold as text.
func readSchema() {
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/client-go").Output()
	check(err)
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "applyconfigurations/internal/internal.go"))
	check(err)
	_, text, _ := strings.Cut(string(source), "schemaYAML = typed.YAMLObject(`")
	text, _, _ = strings.Cut(text, "`)")
	var all struct {
		Types []schemaType `json:"types"`
	}
	check(yaml.Unmarshal([]byte(text), &all))
	for _, one := range all.Types {
		schema[one.Name] = one
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// schemaName is `io.k8s.api.apps.v1.Deployment`.
func schemaName(t reflect.Type) string {
	path := strings.Split(t.PkgPath(), "/")
	host := strings.Split(path[0], ".")
	for i, j := 0, len(host)-1; i < j; i, j = i+1, j-1 {
		host[i], host[j] = host[j], host[i]
	}
	return strings.Join(append(append(host, path[1:]...), t.Name()), ".")
}

// apart are fields of types of which client-go has no apply configurations; their declarations say
// how they merge in comments. Other lists of these types are atomic.
var apart = map[string]string{"CustomResourceDefinitionStatus.conditions": " list=map:type"}

// merging is how server-side apply treats a field.
func merging(t reflect.Type, field string) string {
	if line, ok := apart[t.Name()+"."+field]; ok {
		return line
	}
	one, ok := schema[schemaName(t)]
	if !ok || one.Map == nil {
		return embedded(t, field)
	}
	for _, f := range one.Map.Fields {
		if f.Name != field {
			continue
		}
		line := ""
		switch {
		case f.Type.List != nil && f.Type.List.ElementRelationship == "associative" && len(f.Type.List.Keys) > 0:
			line = " list=map:" + strings.Join(f.Type.List.Keys, ",")
		case f.Type.List != nil && f.Type.List.ElementRelationship == "associative":
			line = " list=set"
		case f.Type.List != nil:
			line = " list=atomic"
		case f.Type.Map != nil && f.Type.Map.ElementRelationship == "atomic", f.Type.ElementRelationship == "atomic":
			line = " map=atomic"
		}
		if f.Default != nil && !strings.HasPrefix(string(*f.Default), "{") {
			line += " default=" + string(*f.Default)
		}
		return line
	}
	return ""
}

// embedded is for a struct that only stands inside others, which the schema flattens: the first of
// those that has the field says how it merges.
func embedded(t reflect.Type, field string) string {
	for _, holder := range holders[t] {
		if line := merging(holder, field); line != "" {
			return line
		}
	}
	return ""
}

// holders are the structs that embed a struct.
var holders = map[reflect.Type][]reflect.Type{}

// marks are the comments of a package's declarations: by `Type` and by `Type.Field`.
type marks struct {
	docs   map[string]string
	consts map[string][]string
}

var packages = map[string]marks{}

// marksOf reads the markers that stand in the comments of a package's source.
func marksOf(path string) marks {
	if found, ok := packages[path]; ok {
		return found
	}
	found := marks{docs: map[string]string{}, consts: map[string][]string{}}
	packages[path] = found
	folder, err := exec.Command("go", "list", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		return found
	}
	parsed, err := parser.ParseDir(token.NewFileSet(), strings.TrimSpace(string(folder)), func(file os.FileInfo) bool {
		return !strings.HasSuffix(file.Name(), "_test.go")
	}, parser.ParseComments)
	check(err)
	for _, one := range parsed {
		for _, file := range one.Files {
			for _, declaration := range file.Decls {
				if group, ok := declaration.(*ast.GenDecl); ok {
					found.read(group)
				}
			}
		}
	}
	return found
}

func (m marks) read(group *ast.GenDecl) {
	for _, spec := range group.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			m.docs[spec.Name.Name] = group.Doc.Text() + spec.Doc.Text() + raw(group.Doc) + raw(spec.Doc)
			if fields, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range fields.Fields.List {
					for _, name := range field.Names {
						m.docs[spec.Name.Name+"."+name.Name] = raw(field.Doc)
					}
				}
			}
		case *ast.ValueSpec:
			named, ok := spec.Type.(*ast.Ident)
			if !ok || group.Tok != token.CONST {
				continue
			}
			for _, value := range spec.Values {
				if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					m.consts[named.Name] = append(m.consts[named.Name], strings.Trim(literal.Value, "\"`"))
				}
			}
		}
	}
}

// raw is a comment with its markers, which Text leaves out where they look like directives.
func raw(group *ast.CommentGroup) string {
	if group == nil {
		return ""
	}
	text := ""
	for _, comment := range group.List {
		text += comment.Text + "\n"
	}
	return text
}

func marked(text, marker string) bool {
	for _, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "//")) == marker {
			return true
		}
	}
	return false
}

// required is kube-openapi's rule: what is neither marked as optional nor omitted when empty.
func required(t reflect.Type, f reflect.StructField) bool {
	doc := marksOf(t.PkgPath()).docs[t.Name()+"."+f.Name]
	options := f.Tag.Get("json")
	if marked(doc, "+required") {
		return true
	}
	return !marked(doc, "+optional") && !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero")
}

// enum are the constants of a type that is marked as one.
func enum(t reflect.Type) string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.String || t.PkgPath() == "" {
		return ""
	}
	found := marksOf(t.PkgPath())
	if !marked(found.docs[t.Name()], "+enum") {
		return ""
	}
	values := append([]string{}, found.consts[t.Name()]...)
	sort.Strings(values)
	return strings.Join(slices.Compact(values), ",")
}

// namedString is Go's name of a type of strings, `v1.Protocol`: errors show it.
func namedString(t reflect.Type) string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.String || t.PkgPath() == "" {
		return ""
	}
	return t.String()
}

// shortPackage is `apps.v1`, or `meta.v1`.
func shortPackage(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	return strings.Join(parts[len(parts)-2:], ".")
}

func visit(t reflect.Type) {
	if _, ok := seen[t]; ok {
		return
	}
	seen[t] = nil
	seen[t] = fields(t, "")
}

func main() {
	readSchema()
	for _, root := range others {
		visit(reflect.TypeOf(root))
	}
	for _, kind := range served() {
		visit(kind)
	}
	names, heads := map[string][]string{}, map[string]string{}
	for t, lines := range seen {
		heads[called(t)] = " " + shortPackage(t)
		if one := schema[schemaName(t)]; one.Map != nil && one.Map.ElementRelationship == "atomic" {
			heads[called(t)] += " atomic"
		}
		if _, twice := names[called(t)]; twice {
			panic("two types are called " + called(t))
		}
		names[called(t)] = lines
	}
	sorted := make([]string, 0, len(names))
	for n := range names {
		sorted = append(sorted, n)
	}
	sort.Strings(sorted)
	fmt.Println("# The shapes of the API's types in Kubernetes 1.36, printed by scripts/api-types; do not edit.")
	for _, n := range sorted {
		fmt.Println(n + heads[n])
		for _, line := range names[n] {
			fmt.Println(line)
		}
	}
}
