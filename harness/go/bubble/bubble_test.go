//go:build linkname

package bubble

import "testing"

func TestTheRuntimeIsUnderstood(t *testing.T) {
	if err := Check(); err != nil {
		t.Fatal(err)
	}
}
