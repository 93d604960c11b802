package telemetry

import (
	"net/http"
	"net/http/pprof"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics counts what the process does. Labels are routes, codes and outcomes: their number is small
// and no address is among them.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	reads    *prometheus.CounterVec
	units    prometheus.Counter
	running  prometheus.Gauge
	unpaid   prometheus.Counter
}

// NewMetrics are metrics that begin at zero, with those of the Go runtime and the process.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "webreader_requests_total", Help: "Requests answered, by route, status and code."},
			[]string{"route", "method", "status", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "webreader_request_seconds", Help: "Time from request to answer, by route.",
			Buckets: []float64{.005, .02, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}}, []string{"route"}),
		reads:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "webreader_reads_total", Help: "Reads by how they ended."}, []string{"outcome"}),
		units:   prometheus.NewCounter(prometheus.CounterOpts{Name: "webreader_units_total", Help: "Units charged."}),
		running: prometheus.NewGauge(prometheus.GaugeOpts{Name: "webreader_reads_running", Help: "Reads under way."}),
		unpaid:  prometheus.NewCounter(prometheus.CounterOpts{Name: "webreader_unsettled_reads_total", Help: "Pages handed over whose charge could not be written: the house pays."}),
	}
	m.registry.MustRegister(m.requests, m.duration, m.reads, m.units, m.running, m.unpaid,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Registry takes further collectors.
func (m *Metrics) Registry() prometheus.Registerer { return m.registry }

// Request counts an answered request.
func (m *Metrics) Request(r Request) {
	m.requests.WithLabelValues(r.Route, r.Method, strconv.Itoa(r.Status), r.Code).Inc()
	m.duration.WithLabelValues(r.Route).Observe(r.Duration.Seconds())
	if r.Outcome != "" {
		m.reads.WithLabelValues(r.Outcome).Inc()
		m.units.Add(float64(r.Units))
	}
}

// ReadBegins and ReadEnds count the reads under way.
func (m *Metrics) ReadBegins() { m.running.Inc() }

// ReadEnds see ReadBegins.
func (m *Metrics) ReadEnds() { m.running.Dec() }

// Unsettled counts a page whose charge could not be written after it was handed over.
func (m *Metrics) Unsettled() { m.unpaid.Inc() }

// Admin answers on the admin address: /metrics, /debug/pprof/ and whatever health has.
func (m *Metrics) Admin(health http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.Handle("/healthz", health)
	mux.Handle("/readyz", health)
	return mux
}
