//go:build !since_1_24

package main

// It also served plain HTTP, on a port that another may have; from 1.24 on there is no such flag.
func init() { furtherFlags = append(furtherFlags, "--port=0") }
