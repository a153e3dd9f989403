// Package fakeapi is an API server in memory that takes turns with a controller in virtual time.
//
// It is for tests of a controller in one process with it: [Server.Run] answers requests one at a time, delivers watch
// events one at a time, and lets time pass while there is nothing to deliver. It has no goroutine and no clock of its
// own, so two runs of one test are the same run.
//
// It is not Lockstep's simulated server and knows much less: there is no defaulting, validation, admission, server-side
// apply, selector, paging, conversion or protobuf; a strategic merge patch is applied as a JSON merge patch; every watch begins
// with the present state or with what comes, whatever resource version it names. Objects are [Object], not typed.
package fakeapi
