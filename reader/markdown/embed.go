package markdown

import (
	"net/url"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// embed writes a frame of another page as a link to it, when a reader would miss it.
func (w *writer) embed(n dom.ID) {
	if tiny(w.t, n) || w.hidden(n) {
		return
	}
	src := w.firstAttr(n, "src", "data-src", "data-lazy-src", "data-original", "data-cmp-src", "data-cookieblock-src", "data-consent-src", "data-href", "data-url", "data-iframe-src", "data-embed-src")
	w.putEmbed(src, w.firstAttr(n, "title", "aria-label", "data-title"))
}

// object writes an embedded page that has nothing else to show for itself; most hold a link to it.
func (w *writer) object(n dom.ID) bool {
	t := w.t
	if len(strings.TrimSpace(shortText(t, n, 40))) > 0 || holds(t, n, atom.Img, atom.Embed, atom.Iframe) {
		return true
	}
	if kind := t.Attr(n, "type"); kind == "" || strings.HasPrefix(kind, "text/html") || strings.HasPrefix(kind, "application/pdf") || strings.HasPrefix(kind, "video/") {
		w.putEmbed(t.Attr(n, "data"), w.firstAttr(n, "title", "aria-label"))
	}
	return false
}

func (w *writer) firstAttr(n dom.ID, keys ...string) string {
	for _, key := range keys {
		if v := strings.TrimSpace(w.t.Attr(n, key)); v != "" && v != "about:blank" {
			return v
		}
	}
	return ""
}

func (w *writer) putEmbed(src, title string) {
	abs := w.links.resolveHTTP(src)
	if abs == "" {
		return
	}
	abs, kind := watch(abs)
	if kind == "" {
		return
	}
	if title == "" {
		title = kind
	}
	w.linkBlock(abs, title)
}

// linkBlock writes a link in a paragraph of its own.
func (w *writer) linkBlock(to, title string) {
	if w.inLink() || w.o.Links == "none" || w.plain {
		w.space = true
		w.text(title)
		w.space = true
		return
	}
	w.endBlock()
	w.targets = append(w.targets, target{url: to})
	w.push(markLink, int32(len(w.targets)))
	w.text(title)
	w.pop()
	w.endBlock()
}

// frames that show what a reader may want, by a part of the host's name, and what they are.
var frameKinds = []struct{ host, kind string }{
	{"vimeo.", "Video"}, {"dailymotion.", "Video"}, {"wistia.", "Video"}, {"ted.com", "Video"}, {"twitch.tv", "Video"}, {"brightcove", "Video"},
	{"jwplayer", "Video"}, {"kaltura", "Video"}, {"loom.com", "Video"}, {"bilibili", "Video"}, {"nicovideo", "Video"}, {"rutube", "Video"},
	{"peertube", "Video"}, {"vk.com", "Video"}, {"tiktok", "Video"}, {"streamable", "Video"}, {"archive.org", "Media"}, {"soundcloud", "Audio"},
	{"spotify", "Audio"}, {"bandcamp", "Audio"}, {"podcasts.", "Audio"}, {"mixcloud", "Audio"}, {"deezer", "Audio"}, {"codepen", "Code"},
	{"jsfiddle", "Code"}, {"codesandbox", "Code"}, {"stackblitz", "Code"}, {"replit", "Code"}, {"jsbin", "Code"}, {"gist.github", "Code"},
	{"slideshare", "Slides"}, {"speakerdeck", "Slides"}, {"docs.google", "Document"}, {"drive.google", "Document"}, {"scribd", "Document"},
	{"issuu", "Document"}, {"google.com", "Map"}, {"openstreetmap", "Map"}, {"mapbox", "Map"}, {"arcgis", "Map"}, {"datawrapper", "Chart"}, {"dwcdn", "Chart"},
	{"flourish", "Chart"}, {"infogram", "Chart"}, {"tableau", "Chart"}, {"ourworldindata", "Chart"}, {"observablehq", "Chart"}, {"twitter.com", "Post"}, {"x.com", "Post"},
	{"instagram", "Post"}, {"facebook.com", "Post"}, {"bsky", "Post"}, {"reddit", "Post"}, {"figma", "Design"}, {"typeform", "Form"}, {"airtable", "Table"},
}

// notContent are hosts whose frames count, sell or guard.
var notContent = []string{"doubleclick", "googletagmanager", "googlesyndication", "google-analytics", "recaptcha", "hcaptcha", "adservice",
	"amazon-adsystem", "taboola", "outbrain", "criteo", "disqus", "consent", "cookie", "adsystem", "scorecardresearch", "hotjar", "quantserve", "/like.php", "/recaptcha", "/plugins/like", "/plugins/share"}

// watch is the address under which a person sees what a frame shows, and what kind of thing it is;
// "" when it is none for a reader.
func watch(abs string) (to, kind string) {
	u, err := url.Parse(abs)
	if err != nil {
		return abs, ""
	}
	host := strings.ToLower(u.Host)
	if strings.Contains(host, "youtube") || strings.HasSuffix(host, "youtu.be") {
		return youTube(u, abs), "Video"
	}
	for _, bad := range notContent {
		if strings.Contains(host, bad) || strings.Contains(bad, "/") && strings.Contains(u.Path, bad) {
			return abs, ""
		}
	}
	if host == "player.vimeo.com" {
		if id := lastPart(u.Path); id != "" && strings.Trim(id, "0123456789") == "" {
			return "https://vimeo.com/" + id, "Video"
		}
	}
	for _, f := range frameKinds {
		if strings.Contains(host, f.host) {
			return abs, f.kind
		}
	}
	return abs, "Embedded page"
}

func youTube(u *url.URL, abs string) string {
	id := ""
	for _, p := range [...]string{"/embed/", "/v/", "/shorts/", "/e/", "/live/"} {
		if rest, ok := strings.CutPrefix(u.Path, p); ok {
			id = rest
		}
	}
	if list := u.Query().Get("list"); id == "videoseries" && wordID(list) {
		return "https://www.youtube.com/playlist?list=" + list
	}
	if id == "" {
		id = u.Query().Get("v")
	}
	if id == "" && strings.HasSuffix(u.Host, "youtu.be") {
		id = strings.TrimPrefix(u.Path, "/")
	}
	if id = strings.TrimSuffix(id, "/"); wordID(id) {
		return "https://www.youtube.com/watch?v=" + id
	}
	return abs
}

func wordID(s string) bool {
	for i := 0; i < len(s); i++ {
		if !alnum(s[i]) && s[i] != '-' && s[i] != '_' {
			return false
		}
	}
	return s != "" && len(s) < 80
}

func lastPart(path string) string {
	path = strings.TrimSuffix(path, "/")
	return path[strings.LastIndexByte(path, '/')+1:]
}

// media writes a video or a sound as a link to its file.
func (w *writer) media(n dom.ID) {
	t := w.t
	src := w.firstAttr(n, "src", "data-src")
	for c := t.FirstChild(n); c != 0 && src == ""; c = t.Next(c) {
		if t.Tag(c) == atom.Source {
			src = w.firstAttr(c, "src", "data-src")
		}
	}
	title := w.firstAttr(n, "title", "aria-label")
	if title == "" {
		title = "Video"
		if t.Tag(n) == atom.Audio || t.Name(n) == "amp-audio" {
			title = "Audio"
		}
	}
	if abs := w.links.resolveHTTP(src); abs != "" {
		w.linkBlock(abs, title)
	}
}

// custom writes the elements that HTML does not know: those of AMP and a few players.
func (w *writer) custom(n dom.ID) bool {
	t := w.t
	name := t.Name(n)
	if !strings.Contains(name, "-") {
		return name != "svg"
	}
	switch name {
	case "amp-img", "amp-anim":
		if !w.plain {
			w.putImage(w.source(n), strings.TrimSpace(t.Attr(n, "alt")))
		}
	case "amp-youtube", "lite-youtube", "youtube-video", "youtube-embed":
		w.putVideo("https://www.youtube.com/watch?v=", w.firstAttr(n, "data-videoid", "videoid", "video-id", "data-video-id"), w.firstAttr(n, "title", "playlabel", "videotitle", "data-title", "aria-label"))
	case "amp-vimeo", "lite-vimeo":
		w.putVideo("https://vimeo.com/", w.firstAttr(n, "data-videoid", "videoid"), w.firstAttr(n, "title", "videotitle"))
	case "amp-dailymotion":
		w.putVideo("https://www.dailymotion.com/video/", w.firstAttr(n, "data-videoid"), t.Attr(n, "title"))
	case "amp-twitter":
		w.putVideo("https://twitter.com/i/status/", w.firstAttr(n, "data-tweetid"), "Post")
	case "amp-instagram":
		w.putVideo("https://www.instagram.com/p/", w.firstAttr(n, "data-shortcode"), "Post")
	case "amp-soundcloud":
		w.putVideo("https://api.soundcloud.com/tracks/", w.firstAttr(n, "data-trackid"), "Audio")
	case "amp-facebook":
		w.putEmbed(t.Attr(n, "data-href"), "Post")
	case "amp-iframe":
		w.embed(n)
	case "amp-video", "amp-audio":
		w.media(n)
	case "amp-ad", "amp-embed", "amp-analytics", "amp-auto-ads", "amp-pixel", "amp-consent", "amp-sticky-ad", "amp-social-share", "clipboard-copy", "copy-button":
	case "mjx-container":
		w.mathJax(n)
	case "math-renderer":
		s := strings.TrimSpace(t.Text(n))
		display, _ := delimited(s)
		w.putMath(s, display)
	case "amp-mathml":
		w.putMath(t.Attr(n, "data-formula"), !t.HasAttr(n, "inline"))
	default:
		return true
	}
	return false
}

func (w *writer) putVideo(before, id, title string) {
	if title == "" {
		title = "Video"
	}
	if wordID(id) {
		w.linkBlock(before+id, title)
	}
}

// button passes over controls; a question that a button opens is text.
func (w *writer) button(n dom.ID) bool {
	t := w.t
	if w.heading > 0 || t.HasAttr(n, "aria-controls") || t.HasAttr(n, "aria-expanded") || t.Tag(t.Parent(n)) == atom.Dt || t.Tag(t.Parent(n)) == atom.Summary {
		text := strings.ToLower(shortText(t, n, 200))
		return !strings.Contains(text, "copy") || len(text) > 40
	}
	w.space = true
	return false
}
