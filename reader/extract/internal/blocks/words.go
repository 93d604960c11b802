package blocks

import "strings"

// Groups of words that makers of pages put into class names, ids, roles and names of custom
// elements, in the languages we meet. A word of four letters or more is found anywhere in the
// name ("maincontent"), a shorter one only as a part by itself.
var classWords = []string{
	"nav navbar navigation navi navigatie menu menus submenu gnb lnb",
	"breadcrumb crumb crumbs kruimel morzsa brotkrume krumel ariane pathway youarehere",
	"footer foot colophon lablec fusszeile piedpage bottombar pageend",
	"header masthead topbar fejlec kopfzeile entete siteheader sitename logo",
	"sidebar aside rail sidecol zijbalk oldalsav seitenleiste rightcol leftcol secondary rightbar leftbar marginal",
	"comment comments disqus reactie hozzaszolas kommentar commentaire respond comentario comlist",
	"share sharing sharedaddy social addtoany sharethis delen megosztas teilen partage partager compartir facebook twitter whatsapp sns",
	"related recommend similar suggest verwant kapcsolodo ahnlich gerelateerd readnext crosssell upsell youmay seealso zusammenhang",
	"author byline writer contributor auteur szerzo autor bio vcard posted",
	"date datum time timestamp published pubdate updated datetime fecha datetext",
	"meta postinfo entryinfo infobar metadata subline",
	"ad ads adv advert adsense dfp gpt sponsor reklam werbung anzeige pub adslot taboola outbrain publicidad reclame hirdetes adbox",
	"promo promotion cta teaser campaign kampany aktion actie banner",
	"newsletter subscribe subscription signup nieuwsbrief hirlevel mailing paywall abonn regwall",
	"cookie cookies consent gdpr privacy onetrust didomi cmp",
	"login signin register account modal popup lightbox overlay dialog aanmelden belepes anmelden registr",
	"content contents inhoud tartalom inhalt contenu contenido cuerpo conteudo maincol",
	"main primary maincontent hoofd",
	"article artikel cikk story articulo artigo noticia news nieuws hirek hir",
	"post posts postbody topic thread message messages forum discussion",
	"body text txt articlebody prose rte wysiwyg richtext bodytext copy paragraph editor tekst szoveg",
	"description desc summary lead intro excerpt standfirst omschrijving leiras beschreibung deck abstract dek subtitle chapo bajada bevezeto lid perex ingress",
	"product termek produkt produit prod pdp sku",
	"price prijs preis prix precio cost amount bedrag osszeg",
	"review reviews rating ratings stars beoordeling ertekeles bewertung",
	"card cards tile tiles grid teaserlist flexcard kachel",
	"list listing results result lista liste overview overzicht archive feed stream loop",
	"item items row entry element cell",
	"search zoek keres suche recherche buscar query finder",
	"filter filters facet facets sort refine szuro",
	"pagination pager paging paginator lapozo pages pagenav pagenum paginering",
	"tab tabs panel panels pane tabpanel",
	"accordion collapse collapsible toggle faq harmonika expand expander disclosure uitklap lenyilo akkordeon",
	"tag tags category categories kategoria rubrik rubriek keyword keywords taxonomy label labels badge trefwoord cimke",
	"caption figcaption credit credits photo bildunter legende bijschrift kepalairas source",
	"image img picture gallery slider carousel slideshow swiper slick media video player figure thumb thumbnail embed",
	"toc tableofcontents inhoudsopgave tartalomjegyzek inhaltsverzeichnis sommaire anchornav jumplinks onthispage",
	"title headline heading titel titre titulo cim cimsor kop",
	"widget module block portlet gadget component",
	"hero jumbotron splash intro-hero visual",
	"feedback helpful survey poll vote votes like likes nuttig hasznos useful rate",
	"quote blockquote signature sig cite quoted",
	"user avatar profile member poster username userinfo nickname",
	"count counter views view stats statistic hits teller szamlalo karma score",
	"print toolbar tools actions action buttons button btn controls control icons icon printer",
	"lang language languages translate locale taal nyelv sprache langue",
	"skip sronly screenreader visuallyhidden hidden offscreen hide noprint",
	"cart basket wishlist checkout winkelwagen kosar warenkorb panier buy addtocart purchase",
	"contact address addr opening hours adres cim elerhetoseg kontakt openingstijden nyitvatartas phone tel",
	"download downloads attachment attachments file files bestand bestanden bijlage letolt letoltes document documents dokumentum fichier pdf",
	"code highlight codeblock snippet syntax pre hljs prism",
	"note notice alert callout admonition warning tip infobox melding figyelem hinweis message-box",
	"feature features testimonial testimonials pricing benefits step steps plan plans service services team",
	"section sections chapter para hoofdstuk fejezet",
	"legal disclaimer copyright copy terms imprint impressum license",
	"event events job jobs vacancy recipe ingredient ingredients instruction instructions directions agenda calendar subsidie palyazat grant regeling",
	"popular trending latest recent mostread meistgelesen legolvasottabb topstories archives blogroll recently",
	"next prev previous older newer volgende vorige kovetkezo elozo siblings adjacent",
	"specs spec specification specifications attributes properties parameters facts keyfacts details kenmerken jellemzok eigenschappen table data adatok",
	"mw infobox navbox reflist wiki reference references footnote footnotes bibliography citation",
	"answer answers question questions accepted solution vraag antwoord kerdes valasz qa",
	"status deadline stand state open closed",
}

// Words the texts themselves use in furniture.
var textWords = []string{
	"cookie cookies consent gdpr privacyverklaring adatvédelmi datenschutz adatkezelési privacybeleid",
	"share tweet facebook twitter whatsapp linkedin pinterest instagram youtube delen deel megosztás megosztom teilen partager compartir email compartilhe partilhar condividi udostępnij sdílet sdílejte dela paylaş поделиться 공유 分享 シェア",
	"subscribe newsletter nieuwsbrief hírlevél abonnieren abonner subscription feliratkozás inschrijven anmelden suscríbete signup abonneren abo suscribirse inscreva inscreve assine abonnez iscriviti odebírat zapisz prenumerera подписаться подпишитесь abonelik telegram",
	"login log sign register account inloggen belépés bejelentkezés regisztráció registrieren connexion registreren logout password jelszó wachtwoord ingresar entrar accedi přihlásit zaloguj войти giriş",
	"copyright © rights reserved privacy terms imprint impressum disclaimer jogok fenntartva rechten voorbehouden conditions toegankelijkheid impresszum colofon agb",
	"more meer lees tovább bővebben weiterlesen mehr suite leer más read continue részletek lire ещё далее číst czytaj więcej leia leggi läs devamı подробнее weiterlesen",
	"related popular latest recommended trending gerelateerd verwant kapcsolódó ajánlott ähnliche beliebt similar legolvasottabb legfrissebb meistgelesen bekijk recent latest aimerez relacionados relacionadas relacionado correlati související podobné powiązane relaterade похожие weitere themen mira mire populares populaires ilgili 관련 関連 相关",
	"comment comments reply replies reacties reactie hozzászólás kommentar kommentare commentaires комментарии respond antworten válasz comentarios comentário comentários comenta commenti komentáře komentarze kommentarer yorum yorumlar коментарі",
	"print download pdf nyomtatás letöltés afdrukken drucken imprimer downloaden printen kb mb docx xlsx odt ods csv doc xls zip",
	"search menu home zoeken keresés suche start kezdőlap főoldal navigatie navigation skip toggle sitemap startseite accueil inicio",
	"cart buy shop basket add checkout winkelwagen kosár kosárba warenkorb panier wishlist",
	"by author written published updated posted geplaatst gepubliceerd bijgewerkt szerző közzétéve frissítve módosítva door von veröffentlicht stand auteur publié autor laatst gewijzigd publicado publicada actualizado atualizado atualizada aktualizováno opublikowano pubblicato publicerad опубликовано redacción redação redakce",
	"helpful feedback nuttig hasznos useful rate vote was opmerking visszajelzés információ behulpzaam",
	"next previous page back volgende vorige következő előző weiter zurück suivant précédent pagina oldal seite top vissza terug",
	"advertisement sponsored ad anzeige advertentie hirdetés werbung publicité reklama реклама sponsor promotion publicidad publicidade pubblicità annons reklam",
	"views view likes followers ago votes points bekeken megtekintés aufrufe members online visitors látogató bezoekers times keer",
	"language english deutsch nederlands magyar français español italiano русский polski taal nyelv türkçe português",
	"january february march april may june july august september october november december januari februari maart mei juni juli augustus oktober január február március április május június július augusztus szeptember október januar februar märz mai dezember",
}

const (
	groups    = 64 // room for classWords, a bit each
	textGroup = 18

	fileGroup    = 8 // the line of textWords about files
	commentGroup = 5 // the line of classWords about comments
	buttonGroup  = 44
)

// automaton finds the long class words anywhere in a name, and the short ones as a whole part.
type automaton struct {
	next  [][26]uint16
	found []uint64 // by state, the groups of words that end there
	short map[string]uint64
}

var words = newAutomaton(classWords)

var lexicon = newLexicon(textWords)

func newLexicon(lines []string) map[string]uint32 {
	m := make(map[string]uint32)
	for i, line := range lines {
		for w := range strings.FieldsSeq(line) {
			m[w] |= 1 << i
		}
	}
	return m
}

// lexStarts are the lengths of the words of the lexicon that begin with a byte, a bit each: most words of a
// page need not be looked up.
var lexStarts = func() (t [256]uint32) {
	for w := range lexicon {
		t[w[0]] |= 1 << len(w)
	}
	return t
}()

func newAutomaton(lines []string) *automaton {
	a := &automaton{next: make([][26]uint16, 1), found: make([]uint64, 1), short: make(map[string]uint64)}
	for i, line := range lines {
		for w := range strings.FieldsSeq(line) {
			w = strings.ReplaceAll(w, "-", "")
			if len(w) < 4 {
				a.short[w] |= 1 << i
				continue
			}
			a.insert(w, 1<<i)
		}
	}
	a.link()
	return a
}

func (a *automaton) insert(word string, group uint64) {
	at := uint16(0)
	for i := range len(word) {
		c := word[i] - 'a'
		if a.next[at][c] == 0 {
			a.next = append(a.next, [26]uint16{})
			a.found = append(a.found, 0)
			a.next[at][c] = uint16(len(a.next) - 1)
		}
		at = a.next[at][c]
	}
	a.found[at] |= group
}

// link turns the trie into an automaton that never goes back: Aho and Corasick's failure links,
// folded into the table.
func (a *automaton) link() {
	fail := make([]uint16, len(a.next))
	queue := []uint16{0}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for c := range 26 {
			to, back := a.next[at][c], uint16(0)
			if at != 0 {
				back = a.next[fail[at]][c]
			}
			if to == 0 {
				a.next[at][c] = back
				continue
			}
			fail[to] = back
			a.found[to] |= a.found[back]
			queue = append(queue, to)
		}
	}
}

// longestName bounds how much of one attribute is looked at.
const longestName = 400

// groupsOf is the set of groups whose words name holds.
func (a *automaton) groupsOf(name string) uint64 {
	if len(name) > longestName {
		name = name[:longestName]
	}
	var buf [24]byte
	var set uint64
	at, part := uint16(0), buf[:0]
	for i := range len(name) {
		c := name[i]
		upper := c >= 'A' && c <= 'Z'
		if upper {
			c += 'a' - 'A'
		}
		letter := c >= 'a' && c <= 'z'
		if !letter || upper && len(part) > 0 && name[i-1] >= 'a' {
			set |= a.whole(part)
			part = part[:0]
		}
		if !letter {
			if c != '-' && c != '_' {
				at = 0
			}
			continue
		}
		at = a.next[at][c-'a']
		set |= a.found[at]
		if len(part) < len(buf) {
			part = append(part, c)
		}
	}
	return set | a.whole(part)
}

func (a *automaton) whole(part []byte) uint64 {
	if len(part) == 0 || len(part) > 3 {
		return 0
	}
	return a.short[string(part)]
}
