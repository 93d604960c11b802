package handlers

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"strings"
	texttemplate "text/template"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/webreaderapi/webreader/docs"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/openapi"
)

//go:embed web
var web embed.FS

// contentPolicy lets our pages use nothing but our own style and script.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// pages are the pages for people, ready to be filled in.
type pages struct {
	html      *template.Template
	llms      *texttemplate.Template
	reference reference
	errors    map[string]template.HTML // by code
	use       template.HTML
	bot       map[string]words // by language
}

func newPages(spec *openapi3.T) (*pages, error) {
	p := &pages{reference: referenceOf(spec), errors: map[string]template.HTML{}}
	var err error
	if p.html, err = template.ParseFS(web, "web/frame.html", "web/billing.html"); err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	if p.llms, err = texttemplate.ParseFS(web, "web/llms.txt"); err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	if p.bot, err = loadWords(); err != nil {
		return nil, err
	}
	for _, kind := range fault.Kinds() {
		text, err := docs.Errors.ReadFile("errors/" + kind.String() + ".md")
		if err != nil {
			return nil, fmt.Errorf("pages: %w", err)
		}
		if p.errors[kind.String()], err = toHTML(text); err != nil {
			return nil, err
		}
	}
	p.use, err = toHTML(docs.AcceptableUse)
	return p, err
}

// toHTML turns one of our own papers into HTML.
func toHTML(markdown []byte) (template.HTML, error) {
	var html bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.Table)).Convert(markdown, &html); err != nil {
		return "", fmt.Errorf("pages: %w", err)
	}
	return template.HTML(html.String()), nil //nolint:gosec // our own papers, embedded in the program
}

// frame is what every page needs.
type frame struct{ Title, Lang string }

// fill is the page of that name with v in it.
func (s *Server) fill(name string, v any) ([]byte, error) {
	var html bytes.Buffer
	if err := s.pages.html.ExecuteTemplate(&html, name, v); err != nil {
		return nil, fmt.Errorf("page %s: %w", name, err)
	}
	return html.Bytes(), nil
}

// page answers the page of that name.
func (s *Server) page(c echo.Context, name string, v any) error {
	html, err := s.fill(name, v)
	if err != nil {
		return err
	}
	return document(c, "text/html; charset=utf-8", html)
}

// document answers something that is the same for everyone.
func document(c echo.Context, media string, body []byte) error {
	h := c.Response().Header()
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	return c.Blob(http.StatusOK, media, body)
}

func (s *Server) showHome(c echo.Context) error {
	return s.page(c, "home", struct {
		frame
		Base   string
		SignUp bool
	}{frame{"Read a page", "en"}, s.base(c), s.desk != nil})
}

func (s *Server) showReference(c echo.Context) error {
	return s.page(c, "reference", struct {
		frame
		reference
	}{frame{"Reference", "en"}, s.pages.reference})
}

type codeRow struct {
	Code, Title string
	Status      string
}

func (s *Server) showErrors(c echo.Context) error {
	var codes []codeRow
	for _, kind := range fault.Kinds() {
		r := rowOf(kind)
		text := fmt.Sprint(r.status)
		if kind == fault.TargetError {
			text += fmt.Sprintf(" · %d", status(&fault.Error{Kind: kind, Reason: "server_error"}))
		}
		codes = append(codes, codeRow{kind.String(), r.title, text})
	}
	return s.page(c, "errors", struct {
		frame
		Codes []codeRow
	}{frame{"Errors", "en"}, codes})
}

// showText shows one of our papers.
func (s *Server) showText(c echo.Context, title string, html template.HTML) error {
	return s.page(c, "text", struct {
		frame
		HTML template.HTML
	}{frame{title, "en"}, html})
}

func (s *Server) showError(c echo.Context) error {
	html, ok := s.pages.errors[c.Param("code")]
	if !ok {
		return fault.New(fault.NotFound, "There is no error with this code; /docs/errors lists them.")
	}
	return s.showText(c, c.Param("code"), html)
}

func (s *Server) showAcceptableUse(c echo.Context) error {
	return s.showText(c, "Acceptable use", s.pages.use)
}

func (s *Server) sendSpecJSON(c echo.Context) error {
	return document(c, mediaJSON, s.specJSON)
}

func (s *Server) sendSpecYAML(c echo.Context) error {
	return document(c, "application/yaml", openapi.YAML)
}

func (s *Server) sendLLMs(c echo.Context) error {
	var text bytes.Buffer
	if err := s.pages.llms.Execute(&text, struct{ Base string }{s.base(c)}); err != nil {
		return fmt.Errorf("llms.txt: %w", err)
	}
	return document(c, "text/plain; charset=utf-8", text.Bytes())
}

// sendRobots keeps robots out of the calls, which answer them only errors.
func (s *Server) sendRobots(c echo.Context) error {
	return document(c, "text/plain; charset=utf-8", []byte("User-agent: *\nDisallow: /read\nDisallow: /bot/check\nDisallow: /billing/\n"))
}

func (s *Server) sendAsset(c echo.Context) error {
	media := map[string]string{"style.css": "text/css; charset=utf-8", "try.js": "text/javascript; charset=utf-8"}[c.Param("name")]
	if media == "" {
		return fault.New(fault.NotFound, "There is no such file.")
	}
	body, err := web.ReadFile(path.Join("web", c.Param("name")))
	if err != nil {
		return fmt.Errorf("asset: %w", err)
	}
	return document(c, media, body)
}

// paragraphs are the paragraphs of a description, without Markdown's marks.
func paragraphs(text string) []string {
	var out []string
	for _, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if p = strings.Join(strings.Fields(strings.ReplaceAll(p, "`", "")), " "); p != "" {
			out = append(out, p)
		}
	}
	return out
}
