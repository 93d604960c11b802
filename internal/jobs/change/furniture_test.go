package change

import "testing"

// Lines that a page's program adds are noise, alone and side by side; what sounds like them and tells
// something is not.
func TestLinesThatAProgramAdds(t *testing.T) {
	for _, line := range []string{
		"Leestijd: 3 minuten", "Reading time: 2 minutes", "Olvasási idő: 4 perc", "Gemiddelde waardering: 4,5 (12 stemmen)", "Értékelés: 4,2 (832 szavazat)",
		"Pagina gegenereerd in 0,31 seconden", "Az oldal 0,4 másodperc alatt készült", "Geprint op 3 mei 2026", "Utolsó frissítés: 2026. május 3. 10:22",
		"Last updated: 3 May 2026 at 10:22", "5 perccel ezelőtt frissítve", "Updated 2 minutes ago", "The time is 18:27", "Jelenleg 15 látogató olvassa", "Vandaag: 9 °C, licht bewolkt",
	} {
		if !volatile(line) || !volatile(" | "+line) {
			t.Errorf("%q is taken for content", line)
		}
	}
	for _, line := range []string{
		"Aanvragen kan tot 3 mei 2026", "Laatst bijgewerkt budget: 3.000 euro voor sport en cultuur.", "De beoordeling duurt 8 weken", "Rating: A", "Read in 5 minutes how to apply",
		"Nu 200 euro per aanvraag", "Today: applications close", "De subsidie voor 15 bezoekers",
	} {
		if volatile(line) {
			t.Errorf("%q is passed over", line)
		}
	}
}
