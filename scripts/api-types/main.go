// Prints the types of the Kubernetes API that kube-apiserver-sim serves, one field a line: its JSON
// name, its Go type, whether it is omitted when empty, and how a strategic merge patch treats it.
// The library that declares the types is the only source.
//
//	cd scripts/api-types && go run . > ../../harness/apiserver/src/api/v1.36.table
package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var roots = []any{
	appsv1.Deployment{}, appsv1.ReplicaSet{}, appsv1.StatefulSet{}, appsv1.DaemonSet{}, appsv1.ControllerRevision{},
	autoscalingv1.Scale{}, coordinationv1.Lease{},
	corev1.Pod{}, corev1.Namespace{}, corev1.Node{}, corev1.Event{}, corev1.ConfigMap{}, corev1.Secret{}, corev1.ServiceAccount{},
	corev1.ResourceQuota{}, corev1.Binding{}, metav1.DeleteOptions{},
}

// Types whose JSON is not their fields'.
var scalars = map[string]bool{
	"resource.Quantity": true, "intstr.IntOrString": true, "v1.Time": true, "v1.MicroTime": true, "v1.FieldsV1": true, "v1.Duration": true,
	"runtime.RawExtension": true,
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
		visit(t)
		return t.Name()
	default:
		return t.Kind().String()
	}
}

func fields(t reflect.Type) []string {
	var lines []string
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && (tag == "" || strings.Contains(options, "inline")) {
			lines = append(lines, fields(f.Type)...)
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
		lines = append(lines, line)
	}
	return lines
}

func visit(t reflect.Type) {
	if _, ok := seen[t]; ok {
		return
	}
	seen[t] = nil
	seen[t] = fields(t)
}

func main() {
	for _, root := range roots {
		visit(reflect.TypeOf(root))
	}
	names := map[string][]string{}
	for t, lines := range seen {
		if _, twice := names[t.Name()]; twice {
			panic("two types are called " + t.Name())
		}
		names[t.Name()] = lines
	}
	sorted := make([]string, 0, len(names))
	for n := range names {
		sorted = append(sorted, n)
	}
	sort.Strings(sorted)
	fmt.Println("# The shapes of the API's types in Kubernetes 1.36, printed by scripts/api-types; do not edit.")
	for _, n := range sorted {
		fmt.Println(n)
		for _, line := range names[n] {
			fmt.Println(line)
		}
	}
}
