package policy

import "strings"

// Resolve is what ref means on a page at t: the Location of a redirect or the address of a link
// (RFC 3986 section 5.2). Around ref blanks are dropped, inside it they are encoded and line breaks
// dropped, as browsers do with what pages hold; the rest is judged as strictly as by ParseTarget.
func (t Target) Resolve(ref string) (Target, error) {
	if len(ref) > MaxURL {
		return ParseTarget(ref)
	}
	ref = tidyRef(ref)
	if t.IsZero() || hasScheme(ref) {
		return ParseTarget(ref)
	}
	if strings.HasPrefix(ref, "//") {
		return ParseTarget(t.scheme + ":" + ref)
	}
	raw := t.Authority() + t.refPath(ref)
	return ParseTarget(raw)
}

var refTidier = strings.NewReplacer("\t", "", "\n", "", "\r", "", " ", "%20")

func tidyRef(ref string) string {
	return refTidier.Replace(strings.Trim(ref, " \t\r\n\f"))
}

func hasScheme(ref string) bool {
	i := strings.IndexAny(ref, ":/?#")
	return i > 0 && ref[i] == ':' && isScheme(ref[:i])
}

// refPath is the path and query that ref, which has no authority, means.
func (t Target) refPath(ref string) string {
	ref, _, _ = strings.Cut(ref, "#")
	path, query := ref, ""
	if i := strings.IndexByte(ref, '?'); i >= 0 {
		path, query = ref[:i], ref[i:]
	}
	switch {
	case path == "" && query == "":
		return t.PathQuery()
	case path == "":
		return t.path + query
	case path[0] != '/':
		path = t.path[:strings.LastIndexByte(t.path, '/')+1] + path
	}
	return removeDots(path) + query
}

// removeDots resolves "." and ".." (RFC 3986 section 5.2.4), also where their dots are escaped, which
// means the same (section 6.2.2.2).
func removeDots(path string) string {
	if !strings.Contains(path, ".") && !strings.Contains(path, "%2") {
		return path
	}
	segments := strings.Split(path, "/")[1:]
	var kept []string
	for i, s := range segments {
		last := i == len(segments)-1
		switch dots(s) {
		case 0:
			kept = append(kept, s)
			continue
		case 2:
			kept = kept[:max(0, len(kept)-1)]
		}
		if last {
			kept = append(kept, "")
		}
	}
	return "/" + strings.Join(kept, "/")
}

// dots is 1 for a "." segment, 2 for a ".." segment, else 0.
func dots(segment string) int {
	if len(segment) > len("%2e%2e") {
		return 0
	}
	switch strings.ReplaceAll(asciiLower(segment), "%2e", ".") {
	case ".":
		return 1
	case "..":
		return 2
	}
	return 0
}
