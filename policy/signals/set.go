// Package signals reads what sites say about being read: robots.txt (RFC 9309), Content-Signal,
// AIPREF Content-Usage, TDMRep, X-Robots-Tag and meta robots, RSL. One file a standard; every value
// comes with the line or header where it stands. It decides nothing.
package signals

import "net/http"

// Set is everything a site has said about a URL so far. The zero Set is a site that could not be
// asked: its robots.txt is unreachable.
type Set struct {
	Robots Robots
	// Header, Meta and Links are those of the answer, at stage Use. A nil Header says nothing.
	Header http.Header
	Meta   []Meta
	Links  []Link
	// TDMFile is the site's tdmrep.json; nil when there is none or nobody asked for it.
	TDMFile *TDMFile
}

// Robots is the answer to a request for robots.txt.
type Robots struct {
	State  RobotsState
	URL    string // where it was asked: "https://site.example/robots.txt"
	Status int    // HTTP status of the last answer; 0 when there was none
	Why    string // why unreachable, in words of ours: "status 503", "timeout", "challenge"
	File   *File  // nil unless State is RobotsFound
}

// RobotsState says what a request for robots.txt came to. The zero state is unreachable: closed.
type RobotsState uint8

// The states of RFC 9309 section 2.3.1.
const (
	RobotsUnreachable RobotsState = iota
	RobotsFound
	RobotsAbsent
)
