// Package signals reads what sites say about being read: robots.txt (RFC 9309), Content-Signal,
// AIPREF Content-Usage, TDMRep, X-Robots-Tag and meta robots, RSL. One file a standard; every value
// comes with the line or header where it stands. It decides nothing.
package signals

// Set is everything a site has said about a URL so far.
type Set struct{}
