package jobs

import (
	"crypto/sha256"
	"regexp"
	"slices"
	"strings"

	"github.com/webreaderapi/webreader/policy"
)

// tracking are query parameters that say where a visitor came from. They name no page.
var tracking = map[string]bool{
	"gclid": true, "gclsrc": true, "dclid": true, "gbraid": true, "wbraid": true, "fbclid": true, "msclkid": true, "yclid": true,
	"twclid": true, "ttclid": true, "li_fat_id": true, "igshid": true, "igsh": true, "mc_cid": true, "mc_eid": true, "_ga": true, "_gl": true,
	"_hsenc": true, "_hsmi": true, "hsctatracking": true, "mkt_tok": true, "vero_id": true, "vero_conv": true, "oly_enc_id": true,
	"oly_anon_id": true, "wickedid": true, "rb_clickid": true, "s_cid": true, "ml_subscriber": true, "ml_subscriber_hash": true,
	"epik": true, "srsltid": true, "ref_src": true, "ref_url": true, "spm": true, "scm": true, "pk_campaign": true, "pk_kwd": true,
	"piwik_campaign": true, "piwik_kwd": true, "matomo_campaign": true, "at_medium": true, "at_campaign": true, "cmpid": true, "trk": true,
}

// sessions are query parameters that name a visit, not a page.
var sessions = map[string]bool{
	"phpsessid": true, "jsessionid": true, "aspsessionid": true, "asp.net_sessionid": true, "sid": true, "sessid": true, "sessionid": true,
	"session_id": true, "session-id": true, "cfid": true, "cftoken": true, "zenid": true, "oscsid": true, "xtcsid": true, "s_session": true,
}

func names(parameter string, set map[string]bool) bool {
	name, _, _ := strings.Cut(parameter, "=")
	name = strings.ToLower(name)
	return set[name]
}

func isNoise(parameter string) bool {
	return names(parameter, tracking) || names(parameter, sessions) || strings.HasPrefix(strings.ToLower(parameter), "utm_")
}

// clean is t without what names a visit or where it came from. It is what a crawl requests for a link.
func clean(t policy.Target) policy.Target {
	path, query := splitQuery(t)
	path = withoutSession(path)
	kept := query[:0:0]
	for _, p := range query {
		if p != "" && !isNoise(p) {
			kept = append(kept, p)
		}
	}
	raw := t.Authority() + path
	if len(kept) > 0 {
		raw += "?" + strings.Join(kept, "&")
	}
	cleaned, err := policy.ParseTarget(raw)
	if err != nil {
		return t
	}
	return cleaned
}

func splitQuery(t policy.Target) (path string, parameters []string) {
	path, query, found := strings.Cut(t.PathQuery(), "?")
	if !found {
		return path, nil
	}
	return path, strings.Split(query, "&")
}

// visit is a segment that names a visit, as ASP.NET writes it without cookies: "/(S(lit3py55t21z5v55vlm25s55))".
var visit = regexp.MustCompile(`^/\((?:[A-Z]\([0-9A-Za-z_-]{8,200}\))+\)(?:/|$)`)

// withoutSession drops ";jsessionid=…" from a path, and a segment that names a visit.
func withoutSession(path string) string {
	if found := visit.FindString(path); found != "" {
		path = "/" + path[len(found):]
	}
	lower := strings.ToLower(path)
	for _, mark := range []string{";jsessionid=", ";phpsessid=", ";sid="} {
		if i := strings.Index(lower, mark); i >= 0 {
			end := i + len(mark)
			for end < len(path) && path[end] != '/' && path[end] != ';' {
				end++
			}
			return path[:i] + path[end:]
		}
	}
	return path
}

// FormOf is the hash of t's normal form: escapes of plain characters undone, escapes in capitals,
// parameters in order and without those that name no page. The case of a path counts.
func FormOf(t policy.Target) Form {
	path, query := splitQuery(clean(t))
	slices.Sort(query)
	form := t.Authority() + unescapePlain(path)
	if len(query) > 0 {
		form += "?" + unescapePlain(strings.Join(query, "&"))
	}
	return hashForm(form)
}

func hashForm(text string) Form {
	sum := sha256.Sum256([]byte(text))
	return Form(sum[:len(Form{})])
}

// unescapePlain undoes escapes of characters that need none (RFC 3986 section 6.2.2.2).
func unescapePlain(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '%' || i+2 >= len(text) || !isHex(text[i+1]) || !isHex(text[i+2]) {
			b.WriteByte(text[i])
			continue
		}
		c := unhex(text[i+1])<<4 | unhex(text[i+2])
		if isUnreserved(c) {
			b.WriteByte(c)
		} else {
			b.WriteString(strings.ToUpper(text[i : i+3]))
		}
		i += 2
	}
	return b.String()
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

func isUnreserved(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '-' || c == '.' || c == '_' || c == '~'
}
