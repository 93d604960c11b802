// Package seal encrypts a job's result to a key that only the customer's API key derives (HPKE, RFC
// 9180: X25519, HKDF-SHA256, the standard library's crypto/hpke). A stolen database shows no page.
package seal
