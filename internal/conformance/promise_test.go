package conformance

import (
	"os"
	"testing"

	"github.com/webreaderapi/webreader/policy"
)

// proofs has the test of each promise, by id.
var proofs = map[string]func(*testing.T){
	"W00": oneIdentity,
	"W01": onlyWhenAsked,
	"W02": onePageOneRequest,
	"W03": hundredAddresses,
	"W04": crawlStaysHome,
	"W05": mainContentAsMarkdown,
	"W06": noCopy,
	"W07": robotsOnceADay,
	"W08": func(t *testing.T) { robotsByFolderAndGroup(t); crawlDelayInCrawls(t) },
	"W09": contentSignalStops,
	"W10": refusalEndsIt,
	"W11": noDisguise,
	"W12": readAgain,
	"W13": addressesWhenSettled,
	"W14": leavesFromTheCountry,
	"W15": reportsCanBeChecked,
	"W16": func(t *testing.T) { suspensionHolds(t); suspensionStopsJobs(t) },
	"W17": genuineByNameAndBehaviour,
	"S01": func(t *testing.T) {
		identityOf(t, "subsidieupdate", "SubsidieUpdate", "https://www.subsidieupdate.nl/bot")
	},
	"S02": onTheSubjectOnly,
	"S03": roundsOfTwoWeeks,
	"S04": twoSecondsBetween,
	"S05": unchangedCostsOneRequest,
	"S06": nothingButPages,
	"S07": robotsPerHost,
	"S08": crawlDelayUpToThirty,
	"S09": longestRuleWins,
	"S10": noindexNofollow,
	"S11": robotsStatus,
	"S12": func(t *testing.T) { shortQuotes(t, "subsidieupdate", day(amsterdam, 2026, 5, 4, 6, 0)) },
	"S13": func(t *testing.T) { noPersonalData(t, "subsidieupdate", day(amsterdam, 2026, 5, 4, 6, 0)) },
	"S14": forgottenOnRequest,
	"S15": stopIsCarriedOut,
	"S16": partAndPaceCanBeAskedFor,
	"B01": func(t *testing.T) { identityOf(t, "subvenio", "SubvenioBot", "https://subvenio.hu/bot") },
	"B03": robotsAtEachCrawl,
	"B04": oneAtATime,
	"B05": onceADay,
	"B06": backsOff,
	"B07": nightOnly,
	"B08": nothingBehindWalls,
	"B09": func(t *testing.T) { shortQuotes(t, "subvenio", day(budapest, 2026, 5, 4, 12, 0)) },
	"B10": changesOfMind,
	"B11": feedsFirst,
	"B12": func(t *testing.T) { noPersonalData(t, "subvenio", day(budapest, 2026, 5, 4, 12, 0)) },
	"N01": everyAnswerNamesItsGround,
	"N02": decisionWithoutThePage,
	"N03": func(t *testing.T) { sealedToTheKey(t); envelopesOpenWithOneKey(t) },
	"N04": botPageShowsTheProfile,
	"N06": changesWithoutCopies,
	"N07": siteOperatorCanCheck,
	"N08": receiptsAreTheBill,
	"N09": func(t *testing.T) { chargedOnce(t); repeatedOnce(t) },
}

// later are the rows that may be without a test when all else is done.
var later = map[string]string{
	"B02": "documents are not read yet",
	"N05": "requests are not signed yet",
}

// notYet is how many rows have no test. It may only fall: lower it with each test, never raise it.
const notYet = 2

func table(t *testing.T) []policy.Promise {
	t.Helper()
	rows, err := policy.LoadPromises(os.DirFS("../../profiles"))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestPromise(t *testing.T) {
	for _, p := range table(t) {
		if prove := proofs[p.ID]; prove != nil {
			t.Run(p.ID, prove)
		} else {
			t.Logf("%s: not yet", p.ID)
		}
	}
}

// The table says of each row, truly, whether a test proves it; the public page goes by that.
func TestTableAndTestsAgree(t *testing.T) {
	without, known := 0, map[string]bool{}
	for _, p := range table(t) {
		known[p.ID] = true
		_, proven := proofs[p.ID]
		switch {
		case proven && p.NotYet:
			t.Errorf("%s has a test: take not_yet out of %s", p.ID, policy.PromiseFile)
		case !proven && !p.NotYet:
			t.Errorf("%s has no test: write one, or mark it not_yet", p.ID)
		}
		if !proven {
			without++
		}
	}
	if without != notYet {
		t.Errorf("%d rows have no test, notYet says %d; it may only fall", without, notYet)
	}
	for id := range proofs {
		if !known[id] {
			t.Errorf("%s has a test and is no row of %s", id, policy.PromiseFile)
		}
	}
	for id := range later {
		if !known[id] {
			t.Errorf("%s may come later and is no row of %s", id, policy.PromiseFile)
		}
	}
	if notYet < len(later) {
		t.Errorf("notYet is %d: shorten the list of what may come later too", notYet)
	}
}

// Each promise can be read by those whose site it is about.
func TestEveryPromiseIsInItsLanguages(t *testing.T) {
	for _, p := range table(t) {
		if p.EN == "" || p.NL == "" && (p.Of("webreaderapi") || p.Of("subsidieupdate")) || p.HU == "" && p.Of("subvenio") {
			t.Errorf("%s lacks a text in a language of its profiles", p.ID)
		}
	}
}
