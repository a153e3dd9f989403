"""Python's ssl as a client: `client.py CA URL…` says the status of each answer, or why there is none."""

import http.client
import ssl
import sys
import urllib.parse

context = ssl.create_default_context(cafile=sys.argv[1])
# Part of the default from Python 3.13 on.
context.verify_flags |= ssl.VERIFY_X509_STRICT
for url in sys.argv[2:]:
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPSConnection(address.hostname, address.port, context=context, timeout=60)
    connection.request("GET", "/version")
    print(url, connection.getresponse().status)
    connection.close()
