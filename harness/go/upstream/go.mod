// Only so that this folder is not part of the module above: scripts/fetch virtual writes the go.mod with which it
// is built, from the one of the Kubernetes version.
module lockstep/upstream

go 1.25
