// Command list prints what a dump of k8s.io/api/core/v1.PodTemplateSpec needs to know of its types, as compiled in.
//
// Without arguments: every struct that a pod template can reach with its fields in the order of declaration, then every other
// named type with what it is made of. `generate` runs it once a minor, and `merge` joins what it prints.
//
// With `filled`: the hash of a template with every field set, by a rule that the reader of the table knows too: what proves a
// table to be read as it was meant.
//
// With `hash`: reads {"name": {"template": …, "collisionCount": …}} from standard input and prints {"name": "hash"}, each
// template decoded as an informer decodes it (by protobuf), dumped and hashed. That is an oracle for minors that do not run here.
// Where this minor does not know a field, it says so instead.
package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"reflect"
	"sort"
	"strings"

	"github.com/davecgh/go-spew/spew"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/rand"
)

var dump = spew.ConfigState{
	Indent: " ", SortKeys: true, DisableMethods: true, SpewKeys: true, DisablePointerAddresses: true, DisableCapacities: true,
}

// Types that the reader knows by name, since their JSON is not their fields. What it knows of them is checked here.
var opaque = map[reflect.Type]string{
	reflect.TypeFor[resource.Quantity](): "{i:(resource.int64Amount){value:(int64)0 scale:(resource.Scale)0} " +
		"d:(resource.infDecAmount){Dec:(*inf.Dec)<nil>} s:(string) Format:(resource.Format)}",
	reflect.TypeFor[intstr.IntOrString](): "{Type:(intstr.Type)0 IntVal:(int32)0 StrVal:(string)}",
	reflect.TypeFor[metav1.Time]():        "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}",
	reflect.TypeFor[metav1.FieldsV1]():    "",
}

func main() {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "hash":
		hashes()
		return
	case len(os.Args) > 1 && os.Args[1] == "filled":
		var template v1.PodTemplateSpec
		fill(reflect.ValueOf(&template).Elem(), "")
		fmt.Println(hash(template, nil))
		return
	}
	for t, want := range opaque {
		if got := dump.Sprintf("%#v", reflect.Zero(t).Interface()); want != "" && got != fmt.Sprintf("(%s)%s", t, want) {
			fail("%s is made of other parts than the reader thinks: %s", t, got)
		}
	}
	l := lister{seen: map[reflect.Type]bool{}, named: map[string]string{}}
	l.visit(reflect.TypeFor[v1.PodTemplateSpec]())
	names := make([]string, 0, len(l.named))
	for name := range l.named {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Printf("type %s %s\n", name, l.named[name])
	}
}

type lister struct {
	seen    map[reflect.Type]bool
	structs map[string]reflect.Type
	named   map[string]string
}

func (l *lister) visit(t reflect.Type) {
	if t.PkgPath() == "" {
		switch t.Kind() {
		case reflect.Pointer:
			if k := t.Elem().Kind(); k == reflect.Pointer || k == reflect.Slice || k == reflect.Map {
				fail("a dump of %s is beyond the reader", t)
			}
			l.visit(t.Elem())
		case reflect.Slice:
			if t.Elem().Kind() == reflect.Pointer {
				fail("a dump of %s is beyond the reader", t)
			}
			l.visit(t.Elem())
		case reflect.Map:
			if t.Key().Kind() != reflect.String || t.Elem().Kind() == reflect.Pointer {
				fail("a dump of %s is beyond the reader", t)
			}
			l.visit(t.Key())
			l.visit(t.Elem())
		case reflect.Bool, reflect.Int32, reflect.Int64, reflect.String, reflect.Uint8:
		default:
			fail("a dump of %s is beyond the reader", t)
		}
		return
	}
	if l.seen[t] {
		return
	}
	l.seen[t] = true
	if _, ok := opaque[t]; ok {
		return
	}
	if t.Kind() == reflect.Struct {
		l.fields(t)
		return
	}
	text := t.Kind().String()
	switch t.Kind() {
	case reflect.Slice:
		text = "[]" + t.Elem().String()
		l.visit(t.Elem())
	case reflect.Map:
		text = "map[" + t.Key().String() + "]" + t.Elem().String()
		l.visit(t.Key())
		l.visit(t.Elem())
	}
	l.name(t, text)
}

func (l *lister) name(t reflect.Type, text string) {
	if old, ok := l.named[t.String()]; ok && old != text {
		fail("two types are called %s", t)
	}
	l.named[t.String()] = text
}

func (l *lister) fields(t reflect.Type) {
	if l.structs == nil {
		l.structs = map[string]reflect.Type{}
	}
	if _, ok := l.structs[t.String()]; ok {
		fail("two structs are called %s", t)
	}
	l.structs[t.String()] = t
	fmt.Printf("struct %s\n", t)
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported():
			fail("%s.%s is unexported, and %s unknown to the reader", t, f.Name, t)
		case key == "" && f.Anonymous && f.Type.Kind() == reflect.Struct:
			key = "." // inline: its fields are keys of this very object
		case key == "" || key == "-":
			fail("%s.%s has no JSON name", t, f.Name)
		}
		fmt.Printf(" %s:(%s) %s\n", f.Name, f.Type, key)
	}
	for i := range t.NumField() {
		l.visit(t.Field(i).Type)
	}
}

// fill sets a value: text to its JSON key, numbers to 7, amounts to 170Mi, lists and maps to one value, and times to none.
func fill(v reflect.Value, key string) {
	switch t := v.Type(); t {
	case reflect.TypeFor[resource.Quantity]():
		v.Set(reflect.ValueOf(resource.MustParse("170Mi")))
		return
	case reflect.TypeFor[intstr.IntOrString]():
		v.Set(reflect.ValueOf(intstr.IntOrString{IntVal: 7}))
		return
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[*metav1.Time](), reflect.TypeFor[*metav1.FieldsV1]():
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.String:
		v.SetString(key)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), key)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), key)
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value, key)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), value)
	case reflect.Struct:
		for i := range v.NumField() {
			key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			fill(v.Field(i), key)
		}
	default:
		fail("no rule fills %s", v.Type())
	}
}

func hash(template v1.PodTemplateSpec, collisionCount *int32) string {
	sum := fnv.New32a()
	dump.Fprintf(sum, "%#v", template)
	if collisionCount != nil {
		count := make([]byte, 8)
		binary.LittleEndian.PutUint32(count, uint32(*collisionCount))
		sum.Write(count)
	}
	return rand.SafeEncodeString(fmt.Sprint(sum.Sum32()))
}

func hashes() {
	var in map[string]struct {
		Template       json.RawMessage `json:"template"`
		CollisionCount *int32          `json:"collisionCount"`
	}
	check(json.NewDecoder(os.Stdin).Decode(&in))
	out := map[string]string{}
	for name, c := range in {
		var read, template v1.PodTemplateSpec
		decoder := json.NewDecoder(bytes.NewReader(c.Template))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&read); err != nil {
			out[name] = "unknown: " + err.Error()
			continue
		}
		wire, err := read.Marshal()
		check(err)
		check(template.Unmarshal(wire))
		out[name] = hash(template, c.CollisionCount)
	}
	text, err := json.MarshalIndent(out, "", "  ")
	check(err)
	fmt.Println(string(text))
}

func check(err error) {
	if err != nil {
		fail("%v", err)
	}
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "list: "+format+"\n", args...)
	os.Exit(1)
}
