package billing_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/reader"
)

// document forges what only reader.Read makes: a document whose receipt has the outcome and the units.
func document(outcome reader.Outcome, units int) *reader.Document {
	d := &reader.Document{}
	r := reflect.ValueOf(d).Elem().FieldByName("receipt")
	set := func(name string, value any) {
		f := r.FieldByName(name)
		reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem().Set(reflect.ValueOf(value))
	}
	set("outcome", outcome)
	set("units", units)
	return d
}

type fakeReader struct {
	document *reader.Document
	err      error
	slow     bool
}

func (r fakeReader) Read(ctx context.Context, _ reader.Request) (*reader.Document, error) {
	if r.slow {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return r.document, r.err
}

// fakeLedger writes down what was asked of it.
type fakeLedger struct {
	refuse, settleErr, voidErr error
	holds, settled, voided     int
	outcome                    reader.Outcome
	cause                      error
	late                       bool // a context that was over came
}

func (l *fakeLedger) Hold(_ context.Context, o billing.Order) (billing.Hold, error) {
	if l.refuse != nil {
		return billing.Hold{}, l.refuse
	}
	l.holds++
	return billing.Hold{ID: "read_1", Units: o.Price()}, nil
}

func (l *fakeLedger) Settle(ctx context.Context, _ billing.Hold, _ reader.Receipt) error {
	l.settled++
	l.late = l.late || ctx.Err() != nil
	return l.settleErr
}

func (l *fakeLedger) Void(ctx context.Context, _ billing.Hold, outcome reader.Outcome, cause error) error {
	l.voided++
	l.outcome, l.cause = outcome, cause
	l.late = l.late || ctx.Err() != nil
	return l.voidErr
}

func give(context.Context, *reader.Document, billing.Hold) error { return nil }

func TestADeliveredReadIsSettledAfterTheHandOver(t *testing.T) {
	l := &fakeLedger{}
	given := false
	m := billing.New(fakeReader{document: document(reader.Delivered, 1)}, l)
	err := m.Read(t.Context(), billing.Order{}, func(_ context.Context, d *reader.Document, h billing.Hold) error {
		given = true
		if l.settled+l.voided != 0 || h.ID != "read_1" || h.Charge(d.Receipt()) != 1 {
			t.Errorf("at the hand-over: %+v, hold %+v", l, h)
		}
		return nil
	})
	if err != nil || !given || l.settled != 1 || l.voided != 0 {
		t.Errorf("%v, given %v, ledger %+v", err, given, l)
	}
}

func TestWhatIsNotDeliveredIsVoided(t *testing.T) {
	lost := errors.New("the connection broke")
	for name, c := range map[string]struct {
		reader fakeReader
		give   billing.HandOver
		want   reader.Outcome
	}{
		"a block":            {fakeReader{err: fault.New(fault.BlockedBySitePolicy, "")}, give, reader.Blocked},
		"a refusal":          {fakeReader{err: fault.New(fault.TargetRefused, "")}, give, reader.Refused},
		"a site's error":     {fakeReader{err: fault.New(fault.TargetError, "")}, give, reader.Failed},
		"an unknown error":   {fakeReader{err: errors.New("x")}, give, reader.Failed},
		"a failed hand-over": {fakeReader{document: document(reader.Delivered, 1)}, failing(lost), reader.Failed},
		"an unchanged page":  {fakeReader{document: document(reader.Unchanged, 0)}, give, reader.Unchanged},
	} {
		l := &fakeLedger{}
		err := billing.New(c.reader, l).Read(t.Context(), billing.Order{}, c.give)
		if l.settled != 0 || l.voided != 1 || l.outcome != c.want {
			t.Errorf("%s: ledger %+v", name, l)
		}
		if want := c.reader.err; want != nil && err != want { //nolint:errorlint // it must come back as it is
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func failing(err error) billing.HandOver {
	return func(context.Context, *reader.Document, billing.Hold) error { return err }
}

func TestNothingIsReadWithoutAHold(t *testing.T) {
	l := &fakeLedger{refuse: fault.New(fault.PaymentRequired, "")}
	err := billing.New(nil, l).Read(t.Context(), billing.Order{}, give)
	if fault.Of(err) != fault.PaymentRequired || l.voided+l.settled != 0 {
		t.Errorf("%v, ledger %+v", err, l)
	}
}

func TestAFailedSettlementSaysThatThePageIsOut(t *testing.T) {
	l := &fakeLedger{settleErr: billing.ErrHoldEnded}
	err := billing.New(fakeReader{document: document(reader.Delivered, 1)}, l).Read(t.Context(), billing.Order{}, give)
	var unsettled *billing.SettleError
	if !errors.As(err, &unsettled) || !errors.Is(err, billing.ErrHoldEnded) || l.voided != 0 {
		t.Errorf("%v, ledger %+v", err, l)
	}
}

func TestACustomerWhoHangsUpDoesNotStopTheLedger(t *testing.T) {
	for _, handedOver := range []bool{true, false} {
		ctx, hangUp := context.WithCancel(t.Context())
		l := &fakeLedger{}
		err := billing.New(fakeReader{document: document(reader.Delivered, 1)}, l).Read(ctx, billing.Order{},
			func(context.Context, *reader.Document, billing.Hold) error {
				hangUp()
				if handedOver {
					return nil
				}
				return ctx.Err()
			})
		if (err == nil) != handedOver || l.late || l.settled+l.voided != 1 {
			t.Errorf("handed over %v: %v, ledger %+v", handedOver, err, l)
		}
	}
}

func TestAReadEndsBeforeItsHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := billing.Order{Longest: 40 * time.Second}
		l := &fakeLedger{}
		began := time.Now()
		err := billing.New(fakeReader{slow: true}, l).Read(t.Context(), o, give)
		if took := time.Since(began); took != o.Longest || o.HoldFor()-took != billing.SettleTime {
			t.Errorf("the read took %v, the hold lasts %v", took, o.HoldFor())
		}
		if !errors.Is(err, context.DeadlineExceeded) || l.voided != 1 {
			t.Errorf("%v, ledger %+v", err, l)
		}
	})
}

// A panic goes up to whoever survives it, and leaves no hold behind.
func TestAPanicEndsTheHold(t *testing.T) {
	l := &fakeLedger{}
	m := billing.New(fakeReader{document: document(reader.Delivered, 1)}, l)
	thrown := func() (thrown any) {
		defer func() { thrown = recover() }()
		_ = m.Read(t.Context(), billing.Order{}, func(context.Context, *reader.Document, billing.Hold) error { panic("broken") })
		return nil
	}()
	if thrown != "broken" || l.settled != 0 || l.voided != 1 || l.outcome != reader.Failed {
		t.Errorf("thrown %v, ledger %+v", thrown, l)
	}
}
