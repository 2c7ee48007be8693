package thread

// mostHeaders bounds for how many runs custom headers are kept.
const mostHeaders = 10_000

// keepHeaders keeps a run's custom headers until this process begins it.
func (p *pool) keepHeaders(runID string, headers map[string]string) {
	if len(headers) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.custom) >= mostHeaders {
		for old := range p.custom { // any of them: that many runs never wait but for other processes
			delete(p.custom, old)
			break
		}
	}
	p.custom[runID] = headers
}

// headers takes a run's custom headers: who begins the run gets them, once.
func (p *pool) headers(runID string) map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.custom[runID]
	delete(p.custom, runID)
	return h
}
