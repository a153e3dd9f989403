// Answers as kube-apiserver does whether definitions and objects of their kinds are valid.
//
// One JSON document per line comes in: {"definition": …, "old": …, "objects": […]}. One goes out:
// {"errors": […], "rules": […], "warnings": […], "objects": [[…], …]}, where "rules" are the errors
// that only rules in CEL cause.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

type question struct {
	Definition json.RawMessage   `json:"definition"`
	Old        json.RawMessage   `json:"old"`
	Objects    []json.RawMessage `json:"objects"`
}

type answer struct {
	Errors   []string   `json:"errors"`
	Rules    []string   `json:"rules"`
	Warnings []string   `json:"warnings"`
	Objects  [][]string `json:"objects"`
}

var scheme = runtime.NewScheme()

func main() {
	install.Install(scheme)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		text, err := json.Marshal(respond(asked))
		if err != nil {
			panic(err)
		}
		fmt.Println(string(text))
	}
}

func respond(asked question) (given answer) {
	given = answer{Errors: []string{}, Rules: []string{}, Warnings: []string{}, Objects: [][]string{}}
	defer func() {
		if why := recover(); why != nil {
			given.Errors = []string{fmt.Sprintf("panic: %v", why)}
		}
	}()
	plain, warnings := judge(asked, true)
	whole, _ := judge(asked, false)
	given.Errors, given.Warnings = plain, append(given.Warnings, warnings...)
	known := map[string]bool{}
	for _, one := range plain {
		known[one] = true
	}
	for _, one := range whole {
		if !known[one] {
			given.Rules = append(given.Rules, one)
		}
	}
	if len(plain) == 0 {
		for _, object := range asked.Objects {
			given.Objects = append(given.Objects, judgeObject(asked.Definition, object))
		}
	}
	return given
}

// judge validates a definition, or a change of one. Without rules, each rule in CEL is one that holds.
func judge(asked question, withoutRules bool) (errors []string, warnings []string) {
	ctx := context.Background()
	strategy := customresourcedefinition.NewStrategy(scheme)
	definition, err := read(asked.Definition, withoutRules)
	if err != nil {
		return []string{"decode: " + err.Error()}, nil
	}
	var found field.ErrorList
	if len(asked.Old) > 0 && string(asked.Old) != "null" {
		old, err := read(asked.Old, withoutRules)
		if err != nil {
			panic(err)
		}
		strategy.PrepareForCreate(ctx, old)
		old.Status.Conditions = []apiextensions.CustomResourceDefinitionCondition{
			{Type: apiextensions.Established, Status: apiextensions.ConditionTrue},
		}
		old.Status.AcceptedNames = old.Spec.Names
		old.ResourceVersion, definition.ResourceVersion = "1", "1"
		definition.Generation = old.Generation
		strategy.PrepareForUpdate(ctx, definition, old)
		found = strategy.ValidateUpdate(ctx, definition, old)
		warnings = strategy.WarningsOnUpdate(ctx, definition, old)
	} else {
		strategy.PrepareForCreate(ctx, definition)
		found = strategy.Validate(ctx, definition)
		warnings = strategy.WarningsOnCreate(ctx, definition)
	}
	errors = []string{}
	for _, one := range found {
		errors = append(errors, one.Error())
	}
	return errors, warnings
}

func read(text json.RawMessage, withoutRules bool) (*apiextensions.CustomResourceDefinition, error) {
	versioned := &apiextensionsv1.CustomResourceDefinition{}
	if err := utiljson.Unmarshal(text, versioned); err != nil {
		return nil, err
	}
	if withoutRules {
		for _, version := range versioned.Spec.Versions {
			if version.Schema != nil && version.Schema.OpenAPIV3Schema != nil {
				dropRules(version.Schema.OpenAPIV3Schema)
			}
		}
	}
	scheme.Default(versioned)
	internal := &apiextensions.CustomResourceDefinition{}
	return internal, scheme.Convert(versioned, internal, nil)
}

func dropRules(schema *apiextensionsv1.JSONSchemaProps) {
	for at := range schema.XValidations {
		rule := &schema.XValidations[at]
		if trimmed := strings.TrimSpace(rule.Rule); strings.ContainsAny(trimmed, "\r\n") {
			rule.Rule = "true ||\ntrue"
		} else if trimmed != "" {
			rule.Rule = "true"
		}
		if strings.TrimSpace(rule.MessageExpression) != "" {
			rule.MessageExpression = "'broken'"
		}
		rule.OptionalOldSelf = nil
	}
	each := func(schemas map[string]apiextensionsv1.JSONSchemaProps) {
		for name, one := range schemas {
			dropRules(&one)
			schemas[name] = one
		}
	}
	each(schema.Properties)
	each(schema.PatternProperties)
	each(schema.Definitions)
	for _, list := range [][]apiextensionsv1.JSONSchemaProps{schema.AllOf, schema.AnyOf, schema.OneOf} {
		for at := range list {
			dropRules(&list[at])
		}
	}
	if schema.Not != nil {
		dropRules(schema.Not)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		dropRules(schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		dropRules(schema.AdditionalProperties.Schema)
	}
}

// judgeObject validates an object of the first version as a new one.
func judgeObject(definition, object json.RawMessage) []string {
	versioned := &apiextensionsv1.CustomResourceDefinition{}
	if err := utiljson.Unmarshal(definition, versioned); err != nil {
		panic(err)
	}
	schema := &apiextensions.JSONSchemaProps{}
	convert := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps
	if err := convert(versioned.Spec.Versions[0].Schema.OpenAPIV3Schema, schema, nil); err != nil {
		panic(err)
	}
	shape, err := structural.NewStructural(schema)
	if err != nil {
		panic(err)
	}
	validator, _, err := validation.NewSchemaValidator(schema)
	if err != nil {
		panic(err)
	}
	var value map[string]interface{}
	if err := utiljson.Unmarshal(object, &value); err != nil {
		panic(err)
	}
	if parts := versioned.Spec.Versions[0].Subresources; parts != nil && parts.Status != nil {
		delete(value, "status")
	}
	pruning.Prune(value, shape, true)
	if err := objectmeta.Coerce(nil, value, shape, false, false); err != nil {
		return []string{"decode: " + err.Error()}
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(value, shape)
	defaulting.Default(value, shape)
	found := validation.ValidateCustomResource(nil, value, validator)
	found = append(found, objectmeta.Validate(nil, value, shape, false)...)
	found = append(found, listtype.ValidateListSetsAndMaps(nil, shape, value)...)
	errors := []string{}
	blocking := false
	for _, one := range found {
		errors = append(errors, one.Error())
		switch one.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong,
			field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			blocking = true
		}
	}
	if blocking && cel.NewValidator(shape, true, celconfig.PerCallLimit) != nil {
		// The server says the same of an object that is too wrong for its rules.
		errors = append(errors, field.Invalid(nil, nil, "some validation rules were not checked because "+
			"the object was invalid; correct the existing errors to complete validation").Error())
	}
	return errors
}
