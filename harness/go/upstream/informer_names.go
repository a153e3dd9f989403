//go:build since_1_36

package main

import (
	"sync"
	_ "unsafe" // for go:linkname

	"k8s.io/client-go/tools/cache"
)

// informerNames remembers each name that informers were given, for good.
//
//go:linkname informerNames k8s.io/client-go/tools/cache.informerNameRegistry
var informerNames struct {
	sync.Mutex
	names map[string]*cache.InformerName
}

func init() {
	forgotten = append(forgotten, func() {
		informerNames.Lock()
		defer informerNames.Unlock()
		clear(informerNames.names)
	})
}
