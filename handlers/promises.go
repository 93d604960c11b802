package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// promiseAnswer is a promise with the test that proves it.
type promiseAnswer struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	Test string `json:"test"`
}

// showPromises is /bot/promises: the rows of the promise table that are promises of the running profile
// and have a test. What no test proves is not promised.
func (s *Server) showPromises(c echo.Context) error {
	lang := s.language(c.QueryParam("lang"), c.Request().Header.Get("Accept-Language"))
	rows := s.proven(lang)
	if choose(c.Request().Header.Get("Accept"), "text/html", mediaJSON) == mediaJSON {
		return sendJSON(c.Response(), http.StatusOK, struct {
			Promises []promiseAnswer `json:"promises"`
		}{rows})
	}
	w := s.pages.bot[lang]
	return s.page(c, "promises", struct {
		frame
		Languages []string
		Words     words
		Rows      []promiseAnswer
	}{frame{w.say("promises_title", s.profile.Token()), lang}, s.languages(), w, rows})
}

func (s *Server) proven(lang string) []promiseAnswer {
	rows := []promiseAnswer{}
	for _, p := range s.promises {
		if p.Test() != "" && p.Of(s.profile.Name) {
			rows = append(rows, promiseAnswer{p.ID, p.Text(lang), p.Test()})
		}
	}
	return rows
}
