package gate

// ToUTF8 decodes a text and names its encoding as the gate does, for pages that the caller has already.
func ToUTF8(body []byte, contentType, mediaType string) ([]byte, string) {
	return toUTF8(body, contentType, mediaType)
}
