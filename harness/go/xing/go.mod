// Only so that this folder is not part of the module above: scripts/reference-controllers writes the go.mod with which
// it is built, from the one of the project.
module lockstep/xing

go 1.25
