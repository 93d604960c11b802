package gate

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// toUTF8 decodes a text and names its encoding: by byte order mark, by the header, by what the page
// says itself (meta, XML declaration), else UTF-8 when it is that, else by a guess, else windows-1252.
func toUTF8(body []byte, contentType, mediaType string) ([]byte, string) {
	e, name := labelled(body, contentType, mediaType)
	if name == "" {
		e, name = guess(body)
	}
	if name == "utf-8" || e == nil {
		return valid(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))), "utf-8"
	}
	text, err := e.NewDecoder().Bytes(body)
	if err != nil {
		return valid(body), "utf-8"
	}
	return bytes.TrimPrefix(text, []byte("\uFEFF")), name
}

// valid copies only what needs mending.
func valid(body []byte) []byte {
	if utf8.Valid(body) {
		return body
	}
	return bytes.ToValidUTF8(body, []byte("\uFFFD"))
}

// labelled is the encoding that the bytes are labelled with; an empty name for none that is known.
func labelled(body []byte, contentType, mediaType string) (encoding.Encoding, string) {
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return charset.Lookup("utf-8")
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return charset.Lookup("utf-16be")
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return charset.Lookup("utf-16le")
	}
	if _, parameters, err := mime.ParseMediaType(contentType); err == nil {
		if e, name := charset.Lookup(parameters["charset"]); e != nil {
			return e, name
		}
	}
	label := ""
	if isXML(mediaType) || isHTML(mediaType) {
		label = xmlEncoding(body)
	}
	if label == "" && isHTML(mediaType) {
		label = metaEncoding(body)
	}
	e, name := charset.Lookup(label)
	if strings.HasPrefix(name, "utf-16") { // the label could be read, so it is not true
		return charset.Lookup("utf-8")
	}
	if e == nil {
		return nil, ""
	}
	if isUTF8(body) { // the page was recoded on its way and its own label was not
		return charset.Lookup("utf-8")
	}
	return e, name
}

// isUTF8 is true for bytes beyond ASCII that all fit UTF-8: text in another encoding does not do that
// by chance.
func isUTF8(body []byte) bool {
	beyond := bytes.IndexFunc(body, func(r rune) bool { return r >= utf8.RuneSelf })
	return beyond >= 0 && utf8.Valid(body)
}

// prescan is how far into a page its own label is looked for (HTML section 13.2.3.2).
const prescan = 1024

// metaEncoding is the encoding that a meta element names.
func metaEncoding(body []byte) string {
	z := html.NewTokenizer(bytes.NewReader(body[:min(len(body), prescan)]))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			if string(name) != "meta" || !more {
				continue
			}
			if label := metaLabel(z); label != "" {
				return label
			}
		}
	}
}

func metaLabel(z *html.Tokenizer) string {
	var label, content string
	isType := false
	for more := true; more; {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "charset":
			label = string(value)
		case "content":
			content = string(value)
		case "http-equiv":
			isType = strings.EqualFold(string(value), "content-type")
		}
	}
	if label == "" && isType {
		_, after, _ := strings.Cut(strings.ToLower(content), "charset=")
		label, _, _ = strings.Cut(after, ";")
	}
	return strings.Trim(label, " \t\r\n\"'")
}

// looked bounds what the detector is fed.
const looked = 64 << 10

// guess is for bytes without any label.
func guess(body []byte) (encoding.Encoding, string) {
	if utf8.Valid(body) {
		return nil, "utf-8"
	}
	found := chardet.Detect(body[:min(len(body), looked)])
	const sure = 0.6
	if found.Confidence >= sure {
		if e, name := charset.Lookup(found.Encoding); e != nil && name != "utf-8" {
			return e, name
		}
	}
	return charset.Lookup("windows-1252")
}

// xmlEncoding is the encoding that an XML declaration names (XML 1.0 section 4.3.3).
func xmlEncoding(body []byte) string {
	head := body[:min(len(body), 200)]
	if !bytes.HasPrefix(head, []byte("<?xml")) {
		return ""
	}
	declaration, _, ok := bytes.Cut(head, []byte("?>"))
	_, after, found := strings.Cut(string(declaration), "encoding")
	if !ok || !found {
		return ""
	}
	after = strings.TrimLeft(after, " \t\r\n=")
	if after == "" || after[0] != '"' && after[0] != '\'' {
		return ""
	}
	name, _, _ := strings.Cut(after[1:], after[:1])
	return name
}
