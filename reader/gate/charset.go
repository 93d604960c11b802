package gate

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// toUTF8 decodes a text and names its encoding: by byte order mark, by the header, by what the page
// says itself (meta, XML declaration), else UTF-8 when it is that, else by a guess, else windows-1252.
func toUTF8(body []byte, contentType, mediaType string) ([]byte, string) {
	e, name, certain := charset.DetermineEncoding(body, contentType)
	if !certain && (isXML(mediaType) || isHTML(mediaType)) {
		if declared := xmlEncoding(body); declared != "" {
			if found, canonical := charset.Lookup(declared); found != nil {
				e, name, certain = found, canonical, true
			}
		}
	}
	if !certain {
		e, name = guess(body)
	}
	if name == "utf-8" || e == nil {
		return bytes.ToValidUTF8(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), []byte("\uFFFD")), "utf-8"
	}
	text, err := e.NewDecoder().Bytes(body)
	if err != nil {
		return bytes.ToValidUTF8(body, []byte("\uFFFD")), "utf-8"
	}
	return bytes.TrimPrefix(text, []byte("\uFEFF")), name
}

// ToUTF8 decodes a text as the gate does: for pages that the caller has already.
func ToUTF8(body []byte, contentType, mediaType string) ([]byte, string) {
	return toUTF8(body, contentType, mediaType)
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
