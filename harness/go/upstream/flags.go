package main

import (
	"fmt"
	"sort"
	"strings"

	"lockstep/virtual"
)

// flags are those that Lockstep starts the real program with, so that both are the same controller: only the
// controllers under test, no leader election, no serving port, client limits that do not throttle, and JSON.
func flags(start virtual.Start) []string {
	list := []string{
		"--controllers=" + strings.Join(start.Controllers, ","),
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-content-type=application/json",
		"--kube-api-qps=2000",
		"--kube-api-burst=4000",
	}
	return append(append(list, furtherFlags...), start.Flags...)
}

// furtherFlags are those of some versions only.
var furtherFlags []string

// gates sets feature gates for one case; the function that it returns sets them back. They are the process's.
func gates(gate mutableGate, wanted map[string]bool) (restore func(), err error) {
	var before []string
	for _, name := range sortedNames(wanted) {
		was, known := enabled(gate, name)
		if !known {
			err = fmt.Errorf("unknown feature gate %q", name)
			break
		}
		if err = gate.Set(fmt.Sprintf("%s=%t", name, wanted[name])); err != nil {
			break
		}
		before = append(before, fmt.Sprintf("%s=%t", name, was))
	}
	restore = func() {
		for _, g := range before {
			_ = gate.Set(g) // it was set so a moment ago
		}
	}
	if err != nil {
		restore()
	}
	return restore, err
}

// mutableGate is as much of upstream's feature gates as every version has.
type mutableGate interface {
	Set(value string) error
}

func sortedNames(m map[string]bool) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
