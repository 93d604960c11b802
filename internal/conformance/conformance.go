// Package conformance proves what is promised to site operators: TestPromise/<id> for each row of
// profiles/promises.yaml. Its tests drive the real binary, or the real engine where days must pass,
// against a small web on loopback, and look at what that web saw and what the customer received.
package conformance
