package change

import "testing"

// Lines that a page's program adds are noise, alone and side by side; what sounds like them and tells
// something is not.
func TestLinesThatAProgramAdds(t *testing.T) {
	for _, line := range []string{
		"Leestijd: 3 minuten", "Reading time: 2 minutes", "Olvasási idő: 4 perc", "Gemiddelde waardering: 4,5 (12 stemmen)", "Értékelés: 4,2 (832 szavazat)",
		"Pagina gegenereerd in 0,31 seconden", "Az oldal 0,4 másodperc alatt készült", "Geprint op 3 mei 2026", "Utolsó frissítés: 2026. május 3. 10:22",
		"Last updated: 3 May 2026 at 10:22", "5 perccel ezelőtt frissítve", "Updated 2 minutes ago", "The time is 18:27", "Jelenleg 15 látogató olvassa", "Vandaag: 9 °C, licht bewolkt",
		"Bijgewerkt op 4 maart 2026", "Pagina gewijzigd op 4 maart 2026 om 9:05 uur", "Laatste wijziging: 04-03-2026", "Page changed on 4 March 2026 at 9:05", "This page was last updated on Monday 4 March 2026",
		"Frissítve: 2026. április 20.", "Az oldal módosítva: 2026. április 20., 9:05", "Frissítve 57 perce", "5 órája módosítva", "Changed 4 hours ago", "Week 48", "Weeknummer 48", "Week 48 van 2026", "Naptári hét: 48", "Ez a 48. hét", "Week 48 of 2026",
		"Het weer: 22 °C en zonnig", "Weather in Marlow Fen: 2°C", "12 °C – gyenge eső", "Kisvárad időjárása: 12 °C", "Ön előtt 14 várakozó van", "Op dit moment zijn er 15 bezoekers op de site", "Er zijn 3 mensen online", "Right now 31 people are viewing this page",
		"Waiting time at the desk: 28 minutes", "Várakozási idő az ügyfélszolgálaton: 57 perc", "Wachttijd bij de balie burgerzaken: ongeveer 12 minuten", "Közzétéve: 21 napja", "U bent bezoeker nummer 36268", "Ön a 56579. látogató",
		"Szerveridő: 05:17", "36 °C – lichte regen",
		"Het is week 48", "Servertijd: 17:41", "17:41", "17.41 uur", "Saturday 7 September 2026 10:53", "2026. szeptember 2. szerda 01:36", "3 mei 2026, 10:50:00",
		"29 693 ember találta hasznosnak, 4 nem",
	} {
		if !volatile(line) || !volatile(" | "+line) {
			t.Errorf("%q is taken for content", line)
		}
	}
	for _, line := range []string{
		"Aanvragen kan tot 3 mei 2026", "Laatst bijgewerkt budget: 3.000 euro voor sport en cultuur.", "De beoordeling duurt 8 weken", "Rating: A", "Read in 5 minutes how to apply",
		"Nu 200 euro per aanvraag", "Today: applications close", "De subsidie voor 15 bezoekers",
		"Gewijzigd: 3 voorwaarden", "Deadline gewijzigd: 3 mei 2027", "Gewijzigd per 3 mei 2027 is het bedrag", "Week 12 tot en met 14", "Binnen 3 weken", "3 weken", "20 °C is het warmst", "Maximaal 21 °C in de zaal", "A határidő 57 nap", "15 people per group", "Várakozási idő a döntésig: 57 nap", "Közzétéve: 2026. május 3.",
		"Geopend op 3 mei 2027", "3 mei 2027 om 14:30 uur", "14:30", "3 mei 2027 23:59", "23.59 uur", "19.30 uur", "3 mei 2027", "2.51", "€ 10.53",
	} {
		if volatile(line) {
			t.Errorf("%q is passed over", line)
		}
	}
}
