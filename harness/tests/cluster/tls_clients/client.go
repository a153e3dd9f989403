// Go's crypto/tls as a client: `client.go CA URL…` says the status of each answer, or why there is
// none.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"time"
)

func main() {
	pem, err := os.ReadFile(os.Args[1])
	check(err)
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		check(fmt.Errorf("%s holds no certificate", os.Args[1]))
	}
	// No proxy: a transport of its own asks the environment for none.
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	client := http.Client{Transport: transport, Timeout: time.Minute}
	for _, url := range os.Args[2:] {
		answer, err := client.Get(url + "/version")
		check(err)
		answer.Body.Close()
		fmt.Println(url, answer.StatusCode)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
